"""A CPU device on which chosen pieces of work fail, as hardware, drivers and networks do."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Array, Operator, Stream
from livefusion.testing.stages import InjectedError


class Mishap(StrEnum):
    """What becomes of a piece of work."""

    RAISES = "raises"
    STALLS = "stalls"  # hangs for ``seconds``, long enough to be given up, and then goes on
    LATE = "late"  # takes ``seconds`` longer
    BLIND = "blind"  # a network gives nothing but zeros


@dataclass(frozen=True, slots=True)
class Strike:
    """An injection that took place: which work, how, and when (monotonic)."""

    work: str
    mishap: Mishap
    at_ns: int


class FaultBoard:
    """What shall go wrong next, by the name of the work; shared by all threads of a graph.

    A mishap is armed, strikes the next work of that name once (``BLIND``: each one until ``disarm``), and is
    noted. ``release`` lets everything that hangs go on, for the end of a test.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.strikes: list[Strike] = []
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._armed: dict[str, tuple[Mishap, float]] = {}
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

    def arm(self, work: str, mishap: Mishap, seconds: float = 0.0) -> None:
        """Let the next work of that name fail."""
        with self._lock:
            self._armed[work] = (mishap, seconds)
            self._noted[work] = 0

    def disarm(self, work: str) -> bool:
        """Let it work again; True if the mishap had struck."""
        with self._lock:
            self._armed.pop(work, None)
            return self._noted[work] > 0

    def release(self) -> None:
        """Let all that hangs go on, and let nothing hang any more."""
        with self._lock:
            self._armed.clear()
        self._released.set()

    def meet(self, work: str) -> Mishap | None:
        """Called by the work itself: raises or hangs as armed; tells it to be blind."""
        with self._lock:
            mishap, seconds = self._armed.get(work, (None, 0.0))
            if mishap is None:
                return None
            if mishap is not Mishap.BLIND:
                del self._armed[work]
            self._noted[work] += 1
            if self._noted[work] == 1:
                self.strikes.append(Strike(work, mishap, self._clock.now_ns()))
        if mishap is Mishap.RAISES:
            raise InjectedError(f"injected into {work}")
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
