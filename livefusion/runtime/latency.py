"""How long things took: log-histograms of fixed size, from which percentiles are read.

The buckets grow geometrically, as in Tene's HdrHistogram, so the relative error is the same at 50 µs and 5 s.
"""

import math
import threading
from dataclasses import dataclass
from typing import Final

_FLOOR_NS: Final = 1_000
_BUCKETS_PER_DECADE: Final = 64  # a bucket spans 3.7 %, so its middle is at most 1.8 % off
_DECADES: Final = 8  # 1 µs to 100 s
_BUCKETS: Final = _BUCKETS_PER_DECADE * _DECADES


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Percentiles in milliseconds, each within 2 % of an exact one; ``max`` is exact."""

    count: int = 0
    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class LogHistogram:
    """Durations in nanoseconds in 512 buckets from 1 µs to 100 s; any thread may record or read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets = [0] * _BUCKETS
        self._count = 0
        self._max_ns = 0

    def record(self, duration_ns: int) -> None:
        """Count one duration; below 1 µs counts as 1 µs, above 100 s as 100 s."""
        index = _index(duration_ns)
        with self._lock:
            self._buckets[index] += 1
            self._count += 1
            self._max_ns = max(self._max_ns, duration_ns)

    def percentile(self, percent: float) -> float:
        """Milliseconds that ``percent`` of the durations did not exceed; 0 if there are none."""
        with self._lock:
            return self._percentile(percent)

    def summary(self) -> LatencySummary:
        """All percentiles of one instant."""
        with self._lock:
            return LatencySummary(
                self._count,
                self._percentile(50),
                self._percentile(95),
                self._percentile(99),
                self._max_ns / 1e6,
            )

    def _percentile(self, percent: float) -> float:
        rank = math.ceil(self._count * percent / 100)
        seen = 0
        for index, count in enumerate(self._buckets):
            seen += count
            if count and seen >= rank:
                return min(_middle_ns(index), self._max_ns) / 1e6
        return 0.0


class LatencyBook:
    """One histogram a name; names are made as they come."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: dict[str, LogHistogram] = {}

    def histogram(self, name: str) -> LogHistogram:
        """The histogram of a name; workers fetch it once and keep it."""
        with self._lock:
            return self._histograms.setdefault(name, LogHistogram())

    def snapshot(self) -> dict[str, LatencySummary]:
        """Percentiles by name, in the order in which the names came."""
        with self._lock:
            histograms = list(self._histograms.items())
        return {name: histogram.summary() for name, histogram in histograms}


def _index(duration_ns: int) -> int:
    if duration_ns <= _FLOOR_NS:
        return 0
    return min(_BUCKETS - 1, int(math.log10(duration_ns / _FLOOR_NS) * _BUCKETS_PER_DECADE))


def _middle_ns(index: int) -> float:
    return _FLOOR_NS * math.pow(10.0, (index + 0.5) / _BUCKETS_PER_DECADE)
