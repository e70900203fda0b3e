"""The plain CPU as a device: work runs at once where it is put, so streams and events are empty shells."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.errors import OutOfMemoryError
from livefusion.devices.device import Array, Event, Operator, Stream, bytes_of, check_copy, host_view

ALIGNMENT = 64
"""Bytes of a cache line and of the widest vector load: arrays start on such a boundary."""


class CpuEvent:
    """An event that is always past."""

    __slots__ = ()

    def synchronize(self) -> None:
        """Return at once."""


_PAST = CpuEvent()


class CpuStream:
    """A stream that is always empty."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Name of the stream."""
        return self._name

    @property
    def handle(self) -> int:
        """0: no library of the CPU takes a stream."""
        return 0

    def record(self) -> Event:
        """The event that is always past."""
        return _PAST

    def wait(self, event: Event | None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""


class CpuDevice:
    """Runs every operator where it is launched, with the ``cpu`` bodies.

    OpenCV then works on its caller's thread, in the whole process: its pool makes a call of 50 µs wait for a
    core that another stage is using.
    """

    def __init__(self) -> None:
        cv2.setNumThreads(1)

    @property
    def name(self) -> str:
        """``cpu``."""
        return "cpu"

    @property
    def description(self) -> str:
        """``cpu``."""
        return self.name

    @property
    def shares_host_memory(self) -> bool:
        """True."""
        return True

    def stream(self, name: str) -> Stream:
        """A new stream."""
        return CpuStream(name)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Uninitialised, contiguous memory on a cache-line boundary. ``OutOfMemoryError`` if none is left."""
        return aligned_empty(shape, dtype)

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The same as ``empty``: host memory is the device's memory."""
        return aligned_empty(shape, dtype)

    def adopt(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """A view of foreign memory, which its owner keeps."""
        return host_view(address, shape, strides, dtype)

    def trim(self) -> None:
        """Nothing is kept back."""

    def undisturbed(self) -> AbstractContextManager[None]:
        """Nothing could be disturbed."""
        return nullcontext()

    def memory_peak(self) -> int:
        """0: it has no memory of its own."""
        return 0

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Copy now; ``ValueError`` if shape or dtype differ."""
        check_copy(dst, src)
        np.copyto(dst, src)

    def prepare(self, *operators: Operator) -> None:
        """Load the ``cpu`` bodies, which compiles them."""
        for operator in operators:
            operator.body("cpu")

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the ``cpu`` body now."""
        operator.body("cpu")(**arguments)

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work now."""
        work()

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """The array itself."""
        host: npt.NDArray[Any] = array
        return host

    def synchronize(self) -> None:
        """Return at once."""


def aligned_empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Uninitialised contiguous host memory on an ``ALIGNMENT`` boundary; may raise ``OutOfMemoryError``."""
    size = bytes_of(shape, dtype)
    try:
        memory = np.empty(size + ALIGNMENT, np.uint8)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"no memory left for {size} bytes", "close programs or use a smaller size"
        ) from error
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)
