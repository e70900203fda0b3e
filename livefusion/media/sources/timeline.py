"""Media time that never goes back."""

from fractions import Fraction

from livefusion.core.timing import Timestamp

JUMP_SECONDS = 1
"""A step back by more is the beginning of another stretch, as in joined files."""


class Timeline:
    """Passes good timestamps on unchanged and mends bad ones so that pts rise strictly.

    A missing pts follows the last one by a nominal frame. One that repeats or steps back a little goes one
    tick behind the last. A step back of more than a second (joined files) shifts all that follows.
    """

    def __init__(self, time_base: Fraction, fps: Fraction) -> None:
        self._time_base = time_base
        self._step = max(1, round(1 / (fps * time_base)))
        self._shift = 0
        self._last: int | None = None
        self._jumped = False

    @property
    def jumped(self) -> bool:
        """True if the last timestamp began a new stretch of media time."""
        return self._jumped

    def preview(self, pts: int) -> Timestamp:
        """The timestamp that a good pts would get."""
        return Timestamp(pts + self._shift, self._time_base)

    def stamp(self, pts: int | None) -> Timestamp:
        """The timestamp of the next picture."""
        last, self._jumped = self._last, False
        if pts is None:
            pts = 0 if last is None else last + self._step
        elif last is not None and (pts := pts + self._shift) <= last:
            self._jumped = (last - pts) * self._time_base > JUMP_SECONDS
            mended = last + (self._step if self._jumped else 1)
            if self._jumped:
                self._shift += mended - pts
            pts = mended
        self._last = pts
        return Timestamp(pts, self._time_base)
