"""The CUDA device with the host in the place of the GPU: our own code from the graph to the kernel."""

from collections.abc import Callable

from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.device import Array, Stream
from livefusion.testing.host_cupy import HostCupy


class TwinDevice(CudaDevice):
    """Networks run on the CPU, in stream order like the kernels."""

    def __init__(self, seed: int | None = None, *, captures: bool = True) -> None:
        self.cupy = HostCupy(seed)
        super().__init__(self.cupy, captures=captures)

    @property
    def name(self) -> str:
        """``twin``: no name of CUDA's, so that networks stay on the CPU."""
        return "twin"

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Put work of the host on the stream, where a GPU's libraries would put work of theirs."""
        own = self._own(stream)
        own.launcher.flush()
        with self.cupy.lock:
            self.cupy.host.put(own.handle, work)
