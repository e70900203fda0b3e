"""What to leave out when frames come too late: optional work, never what keeps a face from being seen."""

from collections.abc import Mapping, Sequence

from livefusion.core.timing import NANOSECONDS, Clock


class DeadlineLadder:
    """The level of restraint, from 0 (all work) up to ``len(rungs)`` (all optional work is left out).

    ``rungs`` name the optional work, the first to be left out first, for example enhance, occlusion, refine.
    A frame is late when it is older than ``budget_ns`` as the stage takes it. A level is added when late
    frames outnumber the others by ``patience``, so that a single one leaves nothing out; it is taken away
    after ``clean_ns`` without two late ones together. Frames themselves are not left out here: where they
    queue, the newest wins. Used by one stage's thread; the figures may be read by any.
    """

    def __init__(
        self,
        rungs: Sequence[str],
        budget_ns: int,
        clock: Clock,
        *,
        patience: int = 3,
        clean_ns: int = 3 * NANOSECONDS,
    ) -> None:
        self._rungs = tuple(rungs)
        self._budget_ns = budget_ns
        self._clock = clock
        self._patience = patience
        self._clean_ns = clean_ns
        self._level = 0
        self._late = 0
        self._clean_since_ns = clock.now_ns()
        self._frames = [0] * len(self._rungs)

    @property
    def level(self) -> int:
        """How many rungs are left out now."""
        return self._level

    @property
    def left_out(self) -> tuple[str, ...]:
        """The rungs that are left out now."""
        return self._rungs[: self._level]

    @property
    def frames(self) -> Mapping[str, int]:
        """For how many frames each rung was left out."""
        return dict(zip(self._rungs, self._frames, strict=True))

    def allows(self, rung: str) -> bool:
        """Whether the named optional work shall be done for this frame."""
        return self._rungs.index(rung) >= self._level

    def judge(self, captured_ns: int) -> None:
        """Take note of a frame as the stage takes it."""
        now_ns = self._clock.now_ns()
        late = now_ns - captured_ns > self._budget_ns
        self._late = self._late + 1 if late else max(0, self._late - 1)
        if self._late >= self._patience:
            self._level, self._late = min(self._level + 1, len(self._rungs)), 0
            self._clean_since_ns = now_ns
        elif self._late > 1:
            self._clean_since_ns = now_ns
        elif now_ns - self._clean_since_ns >= self._clean_ns:
            self._level, self._clean_since_ns = max(0, self._level - 1), now_ns
        for rung in range(self._level):
            self._frames[rung] += 1
