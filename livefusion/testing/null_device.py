"""A GPU that does nothing at once: what is left is the time that our own code takes on the host."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.device import Array, Stream
from livefusion.devices.kernel import Extent
from livefusion.testing.host_cuda import HostCuda, Work
from livefusion.testing.host_cupy import CUDARuntimeError, HostCupy
from livefusion.testing.network_tape import NetworkTape

_SMALL = 1 << 17
"""Copies up to so many bytes are made: results of networks go to the host in them, pictures never."""


class NullCuda(HostCuda):
    """Calls return at once. There are no kernels, no graph holds anything, and every event is past."""

    def __init__(self) -> None:
        self._memory: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        self._handles = 0x1000
        self.in_use_bytes = 0

    @property
    def in_use(self) -> int:
        """Bytes that were taken and not given back."""
        return self.in_use_bytes

    def new_stream(self) -> int:
        """A number."""
        return self._new()

    def new_event(self) -> int:
        """A number."""
        return self._new()

    def record(self, event: int, stream: int) -> None:
        """Nothing."""

    def wait(self, stream: int, event: int) -> None:
        """Nothing."""

    def is_past(self, event: int) -> bool:
        """Always."""
        return True

    def synchronize_event(self, event: int) -> None:
        """Nothing."""

    def synchronize_stream(self, stream: int) -> None:
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""

    def take(self, size: int) -> int:
        """Memory, black and still."""
        block = np.zeros(size + 256, np.uint8)
        address: int = block.ctypes.data + -block.ctypes.data % 256
        self._memory[address] = block
        self.in_use_bytes += block.size
        return address

    def adopt(self, address: int, size: int) -> None:
        """Nothing."""

    def give_back(self, address: int) -> None:
        """Free memory."""
        self.in_use_bytes -= self._memory.pop(address).size

    def put(self, stream: int, work: Work) -> None:
        """Nothing."""

    def begin_capture(self, stream: int) -> None:
        """Nothing."""

    def end_capture(self, stream: int) -> int:
        """A number."""
        return self._new()

    def graph(self, handle: int) -> list[Work]:
        """No work."""
        return []

    def function(self, name: str) -> int:
        """A number."""
        return self._new()

    def launch(self, function: int, grid: Extent, block: Extent, stream: int, pointers: int) -> None:
        """Nothing."""

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy at once, unless it is a picture."""
        if size <= _SMALL:
            ctypes.memmove(to, source, size)

    def _new(self) -> int:
        self._handles += 1
        return self._handles


class NullCupy(HostCupy):
    """``cupy`` over it, without the locks and counters that tests want."""

    def __init__(self) -> None:
        super().__init__(host=NullCuda())

    def _guarded(
        self, name: str, call: Callable[..., Any], error: type[CUDARuntimeError] = CUDARuntimeError
    ) -> Callable[..., Any]:
        # As cheap as can be: on a GPU these are calls of C, and what the driver does in them is not ours.
        return _NOTHING.get(name, call)


class NullDevice(CudaDevice):
    """``CudaDevice`` as it is, over calls that do nothing; networks give what a tape holds."""

    def __init__(self, tape: NetworkTape, *, captures: bool = True) -> None:
        super().__init__(NullCupy(), captures=captures)
        self._tape = tape

    @property
    def name(self) -> str:
        """``null``: no name of CUDA's, so that networks are loaded for the CPU."""
        return "null"

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Play the next results of the network."""

        super().run(lambda: self._tape.play(name, writes), stream, reads=reads, writes=writes, name=name)


def _nothing(*arguments: Any) -> None:
    """Nothing."""


_NOTHING: dict[str, Callable[..., Any]] = {
    name: _nothing
    for name in (
        "setDevice",
        "streamSynchronize",
        "streamWaitEvent",
        "eventRecord",
        "eventSynchronize",
        "deviceSynchronize",
        "memcpy2DAsync",
        "graphLaunch",
        "launchKernel",
    )
}
