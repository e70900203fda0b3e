"""A CPU device on which chosen pieces of work fail, as hardware, drivers and networks do."""

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy.typing as npt

from livefusion.core.errors import DeviceLostError, OutOfMemoryError
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Array, Event, Operator, Stream
from livefusion.testing.stages import InjectedError


class Mishap(StrEnum):
    """What becomes of a piece of work."""

    RAISES = "raises"
    STALLS = "stalls"  # hangs for ``seconds``, long enough to be given up, and then goes on
    LATE = "late"  # takes ``seconds`` longer
    BLIND = "blind"  # a network gives nothing but zeros
    STARVED = "starved"  # the device has no memory left
    LOST = "lost"  # the device is gone, and raises at every call from now on


@dataclass(frozen=True, slots=True)
class Strike:
    """An injection that took place: which work, how, and when (monotonic)."""

    work: str
    mishap: Mishap
    at_ns: int


class FaultBoard:
    """What shall go wrong next, by the name of the work; shared by all threads of a graph.

    A mishap is armed, strikes the next work of that name, or so many ``times`` (``BLIND``: each one until
    ``disarm``), and is noted. ``release`` lets everything that hangs go on, for the end of a test.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.strikes: list[Strike] = []
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._armed: dict[str, tuple[Mishap, float, float]] = {}
        self._noted: Counter[str] = Counter()
        self._released = threading.Event()

    @property
    def armed(self) -> bool:
        """Whether something is about to go wrong."""
        with self._lock:
            return bool(self._armed)

    def is_armed(self, work: str) -> bool:
        """Whether that work is about to fail."""
        with self._lock:
            return work in self._armed

    def arm(self, work: str, mishap: Mishap, seconds: float = 0.0, times: float = 1) -> None:
        """Let the next work of that name fail."""
        with self._lock:
            self._armed[work] = (mishap, seconds, math.inf if mishap is Mishap.BLIND else times)
            self._noted[work] = 0

    def disarm(self, work: str) -> bool:
        """Let it work again; True if the mishap had struck."""
        with self._lock:
            self._armed.pop(work, None)
            return self._noted[work] > 0

    def disarm_all(self) -> None:
        """Let everything work again."""
        with self._lock:
            self._armed.clear()

    def release(self) -> None:
        """Let all that hangs go on, and let nothing hang any more."""
        with self._lock:
            self._armed.clear()
        self._released.set()

    def meet(self, work: str) -> Mishap | None:
        """Called by the work itself: raises or hangs as armed; tells it to be blind or lost."""
        if not self._armed:
            return None
        with self._lock:
            mishap, seconds, times = self._armed.pop(work, (None, 0.0, 0.0))
            if mishap is None:
                return None
            if times > 1:
                self._armed[work] = (mishap, seconds, times - 1)
            self._noted[work] += 1
            if self._noted[work] == 1:
                self.strikes.append(Strike(work, mishap, self._clock.now_ns()))
        if mishap is Mishap.RAISES:
            raise InjectedError(f"injected into {work}")
        if mishap is Mishap.STARVED:
            raise OutOfMemoryError(f"no memory left for {work}", "close other programs")
        if mishap in (Mishap.STALLS, Mishap.LATE):
            self._released.wait(seconds)
        return mishap


class FaultyDevice(CpuDevice):
    """Works like the CPU, but for what its board has in store for operators and networks, by their names."""

    def __init__(self, board: FaultBoard) -> None:
        self._board = board

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator now, or fail."""
        self._board.meet(operator.name)
        super().launch(operator, arguments, stream)

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work now, fail, or overwrite what it gave with zeros."""
        mishap = self._board.meet(name)
        super().run(work, stream, reads=reads, writes=writes, name=name)
        if mishap is Mishap.BLIND:
            for array in writes:
                array[...] = 0


class FragileDevice(FaultyDevice):
    """Works like the CPU under another name, runs out of memory or is lost on command.

    The board's names are those of threads and calls: ``decode:empty``, ``decode:copy``,
    ``analyse:nv12_warp_norm``, ``analyse:face_landmarks``, ``part 0:to_host``. From ``Mishap.LOST`` on every
    call on any thread raises, also of its streams and events, and of the events that were there before.
    """

    def __init__(
        self, name: str = "fragile", board: FaultBoard | None = None, *, shares_host_memory: bool = True
    ) -> None:
        super().__init__(board or FaultBoard())
        self._name = name
        self._shares_host_memory = shares_host_memory
        self.lost = False
        self.trimmed = 0

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    @property
    def shares_host_memory(self) -> bool:
        """As it was told; its memory is the host's in any case."""
        return self._shares_host_memory

    def meet(self, call: str) -> None:
        """What every call begins with: fails as the board has it, or because the device is lost."""
        thread = threading.current_thread().name.partition("#")[0]
        if not self.lost:
            self.lost = self._board.meet(f"{thread}:{call}") is Mishap.LOST
        if self.lost:
            raise DeviceLostError(f"{self._name} is lost, says {call}", "use --device cpu")

    def stream(self, name: str) -> Stream:
        """A new stream."""
        self.meet("stream")
        return _FragileStream(self, name)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Memory, if there is any."""
        self.meet("empty")
        return super().empty(shape, dtype)

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Memory, if there is any."""
        self.meet("pinned")
        return super().pinned(shape, dtype)

    def adopt(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """A view of foreign memory, or fail."""
        self.meet("adopt")
        return super().adopt(address, shape, strides, dtype)

    def prepare(self, *operators: Operator) -> None:
        """Load the bodies, or fail."""
        self.meet("prepare")
        super().prepare(*operators)

    def trim(self) -> None:
        """Count."""
        self.meet("trim")
        self.trimmed += 1

    def memory_peak(self) -> int:
        """Some number."""
        return 3 * 2**20

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Copy now, or fail."""
        self.meet("copy")
        super().copy(dst, src, stream)

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator now, or fail."""
        self.meet(operator.name)
        CpuDevice.launch(self, operator, arguments, stream)

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work now, or fail."""
        self.meet(name)
        CpuDevice.run(self, work, stream, reads=reads, writes=writes, name=name)

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """The array itself, or fail."""
        self.meet("to_host")
        return super().to_host(array)

    def synchronize(self) -> None:
        """Return at once, or fail."""
        self.meet("synchronize")


class _FragileStream:
    """A stream that is always empty, and its own event; both fail with their device."""

    def __init__(self, device: FragileDevice, name: str) -> None:
        self._device = device
        self.name = name
        self.handle = 0

    def record(self) -> Event:
        self._device.meet("record")
        return self

    def wait(self, event: Event | None) -> None:
        if event is not None:
            self._device.meet("wait")

    def synchronize(self) -> None:
        self._device.meet("synchronize")
