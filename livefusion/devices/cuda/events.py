"""CUDA events for use again and again."""

from collections import deque
from typing import Any

_DISABLE_TIMING = 2
"""``cudaEventDisableTiming``: recording costs half."""


class EventPool:
    """CUDA events for use again and again.

    Making one takes as long as recording it. An event may be recorded anew as soon as nobody can wait for
    its former point any more: a wait that is already on a stream keeps the point it was put there for.
    """

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        # Threads that wait for an event sleep; without this flag they would spin on a core.
        self._flags: int = runtime.eventBlockingSync | _DISABLE_TIMING
        self._free: deque[int] = deque()

    def take(self) -> int:
        """An event that nobody else has."""
        try:
            return self._free.popleft()
        except IndexError:
            return int(self._runtime.eventCreateWithFlags(self._flags))

    def give_back(self, event: int) -> None:
        """Let others have it; from any thread, even that of a garbage collection."""
        self._free.append(event)
