"""Media time and monotonic time, which are never mixed.

Media time (``Timestamp``) says where a frame belongs in the stream. Monotonic nanoseconds say how long
something took. Wall-clock time is used for neither.
"""

import threading
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Media time: ``pts`` ticks of ``time_base`` seconds each."""

    pts: int
    time_base: Fraction

    @property
    def seconds(self) -> float:
        """Media time in seconds."""
        return float(self.pts * self.time_base)

    def rescale(self, time_base: Fraction) -> "Timestamp":
        """The same instant in another time base, rounded to its nearest tick."""
        return Timestamp(round(self.pts * self.time_base / time_base), time_base)

    def __add__(self, seconds: Fraction) -> "Timestamp":
        return Timestamp(self.pts + round(seconds / self.time_base), self.time_base)


class Clock(Protocol):
    """Monotonic time, and waiting on it. Tests script it; the product uses ``SystemClock``."""

    def now_ns(self) -> int:
        """Monotonic time in nanoseconds."""
        ...

    def wait(self, condition: threading.Condition, timeout_ns: int | None) -> bool:
        """Wait on a condition that the caller holds; False when the time ran out first."""
        ...


class SystemClock:
    """The machine's monotonic clock."""

    def now_ns(self) -> int:
        """Monotonic time in nanoseconds."""
        return time.monotonic_ns()

    def wait(self, condition: threading.Condition, timeout_ns: int | None) -> bool:
        """Wait on a condition that the caller holds; False when the time ran out first."""
        return condition.wait(None if timeout_ns is None else max(0, timeout_ns) / NANOSECONDS)
