"""CUDA streams and events, named by the stage that owns them."""

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda.context import CudaContext
from livefusion.devices.cuda.launcher import CudaLauncher
from livefusion.devices.cuda.library import translated
from livefusion.devices.device import Event


class CudaEvent:
    """A point in the work of a CUDA stream."""

    __slots__ = ("_context", "handle", "stream")

    def __init__(self, context: CudaContext, handle: int, stream: int) -> None:
        self._context = context
        self.handle = handle
        self.stream = stream

    def synchronize(self) -> None:
        """Sleep until the work before this point is done."""
        try:
            self._context.enter()
            self._context.runtime.eventSynchronize(self.handle)
        except self._context.errors as error:
            raise translated(error, "the wait for its work") from error

    def __del__(self) -> None:
        self._context.events.give_back(self.handle)


class CudaStream:
    """Work in order on the GPU. Belongs to one thread; its handle goes back when nobody refers to it.

    Kernels wait in the launcher until something else is put on the stream or somebody could look: then they
    are sent together.
    """

    def __init__(self, context: CudaContext, handle: int, name: str, *, captures: bool) -> None:
        self._context = context
        self._handle = handle
        self._name = name
        self.launcher = CudaLauncher(context, handle, captures=captures)

    @property
    def name(self) -> str:
        """Name of the stage that owns it."""
        return self._name

    @property
    def handle(self) -> int:
        """The ``cudaStream_t``."""
        return self._handle

    def record(self) -> Event:
        """An event behind everything put on this stream so far."""
        try:
            self._context.enter()
            self.launcher.flush()
            event = CudaEvent(self._context, self._context.events.take(), self._handle)
            self._context.runtime.eventRecord(event.handle, self._handle)
        except self._context.errors as error:
            raise translated(error, f"the work of {self._name}") from error
        return event

    def wait(self, event: Event | None) -> None:
        """What is put on this stream from now on runs after ``event``."""
        if event is None:
            return
        if not isinstance(event, CudaEvent):
            raise DeviceError(
                f"stream {self._name} waits for an event of another device", "copy through the host"
            )
        if event.stream == self._handle:
            return
        try:
            self._context.enter()
            self.launcher.flush()
            self._context.runtime.streamWaitEvent(self._handle, event.handle)
        except self._context.errors as error:
            raise translated(error, f"the work of {self._name}") from error

    def synchronize(self) -> None:
        """Wait until the stream is empty."""
        self.record().synchronize()

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of the stream protocol, and the stream, for libraries that speak it."""
        return 0, self._handle

    def __del__(self) -> None:
        self._context.give_back_stream(self._handle)
