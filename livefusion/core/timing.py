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
        return self.pts * self.time_base.numerator / self.time_base.denominator

    def rescale(self, time_base: Fraction) -> "Timestamp":
        """The same instant in another time base, rounded to its nearest tick."""
        # In whole numbers: fractions take 15 µs of each frame to reduce themselves.
        ticks = self.pts * self.time_base.numerator * time_base.denominator
        return Timestamp(round_ratio(ticks, self.time_base.denominator * time_base.numerator), time_base)

    def __add__(self, seconds: Fraction) -> "Timestamp":
        return Timestamp(self.pts + round(seconds / self.time_base), self.time_base)


def round_ratio(numerator: int, denominator: int) -> int:
    """The whole number nearest to a ratio, an even one between two; ``denominator`` is above 0."""
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))


def ticks_to_ns(ticks: int, time_base: Fraction) -> int:
    """So many ticks of ``time_base`` seconds in nanoseconds."""
    return round_ratio(ticks * time_base.numerator * NANOSECONDS, time_base.denominator)


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
