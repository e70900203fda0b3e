"""The one interface to whatever holds and changes pixels.

Work is put on named streams and may run later. Within a stream it runs in order; between streams only
events order it. Nobody reads on the host what a stream writes before the event recorded behind it has been
synchronised. ``CpuDevice`` runs everything at once, so it forgives a forgotten wait; ``testing.SimDevice``
does not: it runs work as late and as disordered as streams and events allow, and names each race.
"""

import ctypes
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

Array = Any
"""A NumPy array on the CPU, a CuPy array on CUDA: no public base class covers both."""

BodyKind = Literal["reference", "cpu", "cuda"]


class Operator(Protocol):
    """A named piece of pixel work with one body for each kind of device (see ``livefusion.ops.registry``)."""

    @property
    def name(self) -> str:
        """Name of the operator and of the function that is its body."""
        ...

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the array arguments that the body reads."""
        ...

    @property
    def writes(self) -> tuple[str, ...]:
        """Names of the array arguments that the body changes; an argument may be in both."""
        ...

    def body(self, kind: BodyKind) -> Callable[..., None]:
        """The function that does the work on that kind of device."""
        ...


class Event(Protocol):
    """A point in the work of a stream."""

    def synchronize(self) -> None:
        """Block the calling thread until the work before this point is done."""
        ...


class Stream(Protocol):
    """Work in order; different streams are independent until an event ties them."""

    @property
    def name(self) -> str:
        """Name, that of the stage that owns the stream."""
        ...

    @property
    def handle(self) -> int:
        """The stream for foreign libraries: a ``cudaStream_t`` on CUDA, 0 where there is none."""
        ...

    def record(self) -> Event:
        """An event behind everything put on this stream so far."""
        ...

    def wait(self, event: Event | None) -> None:
        """What is put on this stream from now on runs after ``event``; None is always past."""
        ...

    def synchronize(self) -> None:
        """Block the calling thread until the stream is empty."""
        ...


class Device(Protocol):
    """Memory, streams and operators of one device. Safe to use from several threads; a stream is not."""

    @property
    def name(self) -> str:
        """Name for people and reports: ``cpu``, ``cuda:0``."""
        ...

    @property
    def description(self) -> str:
        """What it is, for reports: ``NVIDIA L4, driver 580.95``; the name if there is no more to say."""
        ...

    @property
    def shares_host_memory(self) -> bool:
        """Whether arrays of the device are NumPy arrays, so that the host needs no copy to read them."""
        ...

    def stream(self, name: str) -> Stream:
        """A new stream."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Uninitialised device memory. ``OutOfMemoryError`` if there is none left."""
        ...

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Uninitialised host memory that the device can copy from and to without a detour."""
        ...

    def adopt(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """An array over memory of the device that another library owns and keeps; strides in bytes."""
        ...

    def trim(self) -> None:
        """Give memory that nothing uses back to the system."""
        ...

    def undisturbed(self) -> AbstractContextManager[Any, Any]:
        """While it lasts, nobody takes memory or waits for all of the device: a library captures a graph."""
        ...

    def memory_peak(self) -> int:
        """Most bytes of memory of its own that were in use at once; 0 where device memory is host memory.

        A count kept on the host: it is told of a device that is lost, too.
        """
        ...

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Copy between arrays of equal shape and dtype, on the host or the device, in stream order."""
        ...

    def prepare(self, *operators: Operator) -> None:
        """Load and compile operators now, so that their first launch is as fast as the others.

        On a machine that has never run them this takes seconds: call it where a stage opens.
        """
        ...

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run an operator in stream order. Array arguments are changed in place, never returned."""
        ...

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run a network or other opaque work in stream order, with what it reads and writes declared."""
        ...

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """The array as NumPy sees it, without a copy where memory is shared; synchronise before reading."""
        ...

    def synchronize(self) -> None:
        """Block the calling thread until every stream is empty."""
        ...


def host_view(
    address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """A NumPy array over foreign host memory, which it does not keep alive; strides in bytes."""
    kind = np.dtype(dtype)
    span = kind.itemsize + sum((side - 1) * step for side, step in zip(shape, strides, strict=True))
    memory = (ctypes.c_ubyte * span).from_address(address)
    return np.ndarray(shape, kind, buffer=memoryview(memory).cast("B"), strides=strides)


def bytes_of(shape: tuple[int, ...], dtype: npt.DTypeLike) -> int:
    """Size of an array in bytes."""
    return int(np.prod(shape)) * np.dtype(dtype).itemsize


def check_copy(dst: Array, src: Array) -> None:
    """``ValueError`` unless both arrays have the same shape and dtype, and ``dst`` may be written."""
    if dst.shape != src.shape or dst.dtype != src.dtype:
        raise ValueError(f"cannot copy {src.dtype}{src.shape} into {dst.dtype}{dst.shape}")
    if not getattr(dst.flags, "writeable", True):  # arrays of CuPy all are, and do not say so
        raise ValueError("cannot copy into an array that is read-only")
