"""From Python to a kernel on a stream: two native calls for each launch, or one graph for several."""

import ctypes
from typing import Any

from livefusion.devices.cuda.context import CudaContext
from livefusion.devices.cuda.memory import Block
from livefusion.devices.cuda.replay import Launch, Replay
from livefusion.devices.kernel import MOST_BYTES, Extent, Kernel

_SCRATCH_STEP = 1 << 18


class CudaLauncher:
    """Collects the launches of one stream and sends them when ``flush`` is called.

    Errors are CuPy's; whoever owns the stream translates them.
    """

    def __init__(self, context: CudaContext, handle: int, *, captures: bool) -> None:
        self._handle = handle
        self._kernels = context.kernels
        self._launch_kernel = context.driver.launchKernel
        self._allocate = context.memory.allocate
        self._scratch: dict[str, Block] = {}
        self._waiting: list[Launch] = []
        self._kept: list[Any] = []
        self._replay = Replay(context, handle) if captures else None
        # What cuLaunchKernel reads: an array of pointers to arguments, of which there is one.
        self._arguments = ctypes.create_string_buffer(MOST_BYTES)
        self._pointers = (ctypes.c_void_p * 1)(ctypes.addressof(self._arguments))
        self._pointers_address = ctypes.addressof(self._pointers)

    def launch(self, kernel: Kernel, extent: Extent, *values: Any) -> None:
        """Take note of a kernel; an empty extent is none."""
        if extent[0] > 0 and extent[1] > 0 and extent[2] > 0:
            self._waiting.append((kernel, extent, kernel.layout.pack(*extent, 0, *values)))

    def keep(self, arrays: Any) -> None:
        """Hold on to what the kernels launched last work on, until they are on the stream."""
        if self._waiting:
            self._kept.append(arrays)

    def scratch(self, use: str, size: int) -> int:
        """Address of memory of this stream, grown in steps so that a face that comes nearer costs nothing."""
        block = self._scratch.get(use)
        if block is None or block.size < size:
            self.flush()  # what was launched may use the old block, which is let go here
            block = self._scratch[use] = self._allocate(-(-size // _SCRATCH_STEP) * _SCRATCH_STEP)
        return block.address

    def flush(self) -> None:
        """Put what was launched on the stream."""
        if not self._waiting:
            return
        launches, self._waiting = self._waiting, []
        try:
            if self._replay is None or not self._replay.send(launches, self.put_at):
                for kernel, extent, packed in launches:
                    self.put(kernel, extent, packed)
        finally:
            self._kept.clear()

    def put(self, kernel: Kernel, extent: Extent, packed: bytes) -> None:
        """Put one kernel on the stream."""
        ctypes.memmove(self._arguments, packed, len(packed))
        x, y, z = kernel.grid(extent)
        self._launch_kernel(
            self._kernels[kernel.name], x, y, z, *kernel.block, 0, self._handle, self._pointers_address, 0
        )

    def put_at(self, kernel: Kernel, grid: Extent, arguments: int) -> None:
        """Put one kernel on the stream that finds its arguments at an address of the device."""
        ctypes.c_void_p.from_buffer(self._arguments).value = arguments
        self._launch_kernel(
            self._kernels.at(kernel.name),
            *grid,
            *kernel.block,
            0,
            self._handle,
            self._pointers_address,
            0,
        )
