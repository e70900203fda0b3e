"""When the next key frame is due."""

from livefusion.core.timing import Timestamp

KEYFRAME_SECONDS = 1
"""Longest time between two key frames: what a killed recording loses, and what a late viewer waits."""


class KeyframeClock:
    """Counts media time since the last key frame: rates vary, so frames are not counted."""

    def __init__(self, seconds: int = KEYFRAME_SECONDS) -> None:
        self._seconds = seconds
        self._last: Timestamp | None = None

    def is_key(self, ts: Timestamp, *, wanted: bool) -> bool:
        """Whether a frame is to be a key frame, because it is wanted or due; all timestamps of one base."""
        last = self._last
        base = ts.time_base
        due = last is None or (ts.pts - last.pts) * base.numerator >= self._seconds * base.denominator
        if wanted or due:
            self._last = ts
        return wanted or due
