"""What to leave out when frames come too late: optional work first, then the frame."""

from collections.abc import Sequence

from livefusion.core.timing import NANOSECONDS, Clock


class DeadlineLadder:
    """The level of restraint, from 0 (all work) up to ``len(rungs)`` (all optional work is left out).

    ``rungs`` name the optional work, the first to be left out first, for example enhance, occlusion, refine.
    A frame is late when it is older than ``budget_ns`` as the stage takes it. Each late frame adds a level;
    ``clean_ns`` without one takes a level away. Used by one stage's thread; ``level`` may be read by any.
    """

    def __init__(
        self, rungs: Sequence[str], budget_ns: int, clock: Clock, clean_ns: int = 3 * NANOSECONDS
    ) -> None:
        self._rungs = tuple(rungs)
        self._budget_ns = budget_ns
        self._clean_ns = clean_ns
        self._clock = clock
        self._level = 0
        self._clean_since_ns = clock.now_ns()
        self._dropped_last = False

    @property
    def level(self) -> int:
        """How many rungs are left out now."""
        return self._level

    def allows(self, rung: str) -> bool:
        """Whether the named optional work shall be done for this frame."""
        return self._rungs.index(rung) >= self._level

    def admit(self, captured_ns: int) -> bool:
        """Judge a frame as the stage takes it; False if it is better dropped.

        Only a late frame at the top of the ladder is dropped, and never two in a row: if all are late, every
        second one still comes through.
        """
        now_ns = self._clock.now_ns()
        if now_ns - captured_ns <= self._budget_ns:
            self._climb(now_ns)
            self._dropped_last = False
            return True
        at_top = self._level == len(self._rungs)
        self._level = min(self._level + 1, len(self._rungs))
        self._clean_since_ns = now_ns
        self._dropped_last = at_top and not self._dropped_last
        return not self._dropped_last

    def _climb(self, now_ns: int) -> None:
        if now_ns - self._clean_since_ns >= self._clean_ns:
            self._level = max(0, self._level - 1)
            self._clean_since_ns = now_ns
