"""How long after its media time a live output leaves, so that its sound leaves as late as its pictures."""

from livefusion.core.timing import NANOSECONDS

_SHARE = 1 / 16
# Beyond this it is no jitter: the input began anew, or stalled.
_JUMP_NS = 150_000_000


class OutputDelay:
    """The distance of monotonic time from media time, smoothed over some frames."""

    def __init__(self) -> None:
        self._offset_ns: float | None = None

    def note(self, media_seconds: float, now_ns: int) -> None:
        """A picture of that media time leaves now."""
        offset = now_ns - media_seconds * NANOSECONDS
        if self._offset_ns is None or abs(offset - self._offset_ns) > _JUMP_NS:
            self._offset_ns = offset
        else:
            self._offset_ns += _SHARE * (offset - self._offset_ns)

    def due_ns(self, media_seconds: float) -> int:
        """When that media time leaves; ``note`` comes first."""
        assert self._offset_ns is not None, "no picture came yet"
        return round(self._offset_ns + media_seconds * NANOSECONDS)

    def media_seconds(self, now_ns: int) -> float:
        """The media time that leaves now; ``note`` comes first."""
        assert self._offset_ns is not None, "no picture came yet"
        return (now_ns - self._offset_ns) / NANOSECONDS
