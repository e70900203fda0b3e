"""One NVIDIA GPU as a device."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda.context import CudaContext
from livefusion.devices.cuda.library import current, translated
from livefusion.devices.cuda.memory import Arena, Block
from livefusion.devices.cuda.nvtx import annotator
from livefusion.devices.cuda.rows import rows_of
from livefusion.devices.cuda.stream import CudaStream
from livefusion.devices.device import Array, Operator, Stream, bytes_of, check_copy
from livefusion.devices.kernel import address as address_of


class CudaDevice:
    """Streams, memory and kernels of one GPU, in its primary context, shared by all graphs of the process.

    ``cupy`` is the module, or what stands in for it in tests. ``captures`` has sequences of kernels sent as
    CUDA graphs. Every method may raise ``DeviceLostError``; allocation ``OutOfMemoryError``.
    """

    def __init__(self, cupy: Any, index: int = 0, *, captures: bool = True) -> None:
        self._context = CudaContext(cupy, index)
        self._errors = self._context.errors
        self._captures = captures
        self._annotate = annotator(cupy)

    @property
    def name(self) -> str:
        """``cuda:0``."""
        return f"cuda:{self._context.index}"

    @property
    def index(self) -> int:
        """Number of the GPU among those that the process sees."""
        return self._context.index

    @property
    def description(self) -> str:
        """What people call it: ``NVIDIA L4 (sm_89)``."""
        return self._context.description

    @property
    def shares_host_memory(self) -> bool:
        """False."""
        return False

    @property
    def allocations(self) -> int:
        """How often memory was taken, on the GPU or pinned: it stands still once a graph is warm."""
        return self._context.memory.allocations + self._context.pinned.allocations

    def memory_peak(self) -> int:
        """Most bytes of the GPU's memory that were in use at once, without those of networks and codecs."""
        return self._context.memory.peak

    def stream(self, name: str) -> Stream:
        """A new stream that does not wait for CUDA's default stream."""
        try:
            self._context.enter()
            return CudaStream(self._context, self._context.take_stream(), name, captures=self._captures)
        except self._errors as error:
            raise translated(error, "a stream") from error

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Uninitialised memory of the GPU, which any stream may use at once."""
        size = bytes_of(shape, dtype)
        block = self._allocate(self._context.memory, size)
        memory = self._context.cupy.cuda.UnownedMemory(block.address, size, block, self.index)
        return self._array(memory, shape, dtype)

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Uninitialised host memory that copies without a detour."""
        block = self._allocate(self._context.pinned, bytes_of(shape, dtype))
        return _PinnedMemory(block).view(shape, dtype)

    def adopt(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """An array over memory of this GPU that another library owns and keeps."""
        span = np.dtype(dtype).itemsize + sum(
            (side - 1) * step for side, step in zip(shape, strides, strict=True)
        )
        memory = self._context.cupy.cuda.UnownedMemory(address, span, None, self.index)
        return self._array(memory, shape, dtype, strides)

    def trim(self) -> None:
        """Give memory that nothing uses back to the system; waits for the GPU."""
        self.synchronize()
        try:
            self._context.trim()
        except self._errors as error:
            raise translated(error, "giving memory back") from error

    def undisturbed(self) -> AbstractContextManager[Any, Any]:
        """While it lasts, a library may capture a graph on a stream of this device."""
        return self._context.quiet

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Copy in stream order, also to and from the host; pageable memory is free when this returns."""
        check_copy(dst, src)
        if dst.size == 0:
            return
        own = self._own(stream)
        context, runtime = self._context, self._context.runtime
        whole = dst.flags.c_contiguous and src.flags.c_contiguous
        try:
            context.enter()
            own.launcher.flush()
            to_address, source_address = address_of(dst), address_of(src)
            if whole:
                runtime.memcpyAsync(to_address, source_address, dst.nbytes, runtime.memcpyDefault, own.handle)
            else:
                to, source = rows_of(dst), rows_of(src)
                to, source = to.split_like(source), source.split_like(to)
                runtime.memcpy2DAsync(
                    to.address,
                    to.pitch,
                    source.address,
                    source.pitch,
                    to.width,
                    to.height,
                    runtime.memcpyDefault,
                    own.handle,
                )
            if context.is_pageable(source_address) or context.is_pageable(to_address):
                runtime.streamSynchronize(own.handle)
        except self._errors as error:
            raise translated(error, "a copy") from error

    def prepare(self, *operators: Operator) -> None:
        """Load the bodies; their kernels came with the device."""
        for operator in operators:
            operator.body("cuda")

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run an operator in stream order."""
        own = self._own(stream)
        try:
            self._context.enter()
            with self._annotate(operator.name):
                operator.body("cuda")(own.launcher, **arguments)
        except self._errors as error:
            raise translated(error, operator.name) from error
        finally:
            own.launcher.keep(arguments)  # a body that fails half-way has launched something too

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run work now that puts something on the stream, which is CuPy's current one meanwhile."""
        own = self._own(stream)
        try:
            self._context.enter()
            own.launcher.flush()
            with self._annotate(name), current(self._context.cupy, own):
                work()
        except self._errors as error:
            raise translated(error, name) from error

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """A copy in host memory; waits for it. On the live path copy into ``pinned`` memory instead.

        What lies in host memory already is given as it is.
        """
        if type(array) is np.ndarray:
            return array
        host: npt.NDArray[Any] = np.empty(array.shape, array.dtype)
        stream = self.stream("to host")
        self.copy(host, array, stream)
        stream.synchronize()
        return host

    def synchronize(self) -> None:
        """Wait until every stream is empty."""
        try:
            self._context.enter()
            self._context.synchronize()
        except self._errors as error:
            raise translated(error, "the wait for its work") from error

    def _allocate(self, arena: Arena, size: int) -> Block:
        try:
            self._context.enter()
            return arena.allocate(size)
        except self._errors as error:
            raise translated(error, f"{size / 1e6:.1f} MB") from error

    def _array(
        self,
        memory: Any,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        strides: tuple[int, ...] | None = None,
    ) -> Array:
        cupy = self._context.cupy
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        return cupy.ndarray(shape, np.dtype(dtype), memptr=pointer, strides=strides)

    def _own(self, stream: Stream) -> CudaStream:
        if not isinstance(stream, CudaStream):
            raise DeviceError(f"stream {stream.name} belongs to another device", "copy through the host")
        return stream


class _PinnedMemory:
    """Lends pinned memory to NumPy arrays, which keep it."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def view(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The memory as an array."""
        self.__array_interface__ = {
            "shape": (self._block.size,),
            "typestr": "|u1",
            "data": (self._block.address, False),
            "version": 3,
        }
        size = bytes_of(shape, dtype)
        return np.asarray(self)[:size].view(dtype).reshape(shape)
