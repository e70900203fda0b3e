"""Counts that threads share: what was dropped, where and why."""

import threading
from collections import Counter


class DropCounters:
    """Drops by edge (``decode→analyse``, or a stage's own name) and cause (``newest-wins``)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, edge: str, cause: str, count: int = 1) -> None:
        """Count ``count`` more items that went no further on ``edge``."""
        with self._lock:
            self._counts[edge, cause] += count

    def snapshot(self) -> dict[tuple[str, str], int]:
        """A copy of all counts by (edge, cause)."""
        with self._lock:
            return dict(self._counts)

    def report(self) -> dict[str, int]:
        """All counts by ``edge:cause``, as the report of a run shows them."""
        return {f"{edge}:{cause}": count for (edge, cause), count in sorted(self.snapshot().items())}


class Tally:
    """Named counts of one worker; any thread may add or read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str) -> None:
        """Count one more."""
        with self._lock:
            self._counts[name] += 1

    def __getitem__(self, name: str) -> int:
        with self._lock:
            return self._counts[name]
