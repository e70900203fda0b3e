"""Media time across one connection after the other."""

from livefusion.core.timing import NANOSECONDS

_BACK_NS = NANOSECONDS // 2
_AHEAD_NS = 10 * NANOSECONDS


class StreamClock:
    """Gives packets nanoseconds of media time since the first picture.

    Within a connection it is the sender's own time, between connections it is real time. A server that keeps
    pictures since the last key frame sends them in a burst, so that media time runs ahead of real time by
    their length: what it is ahead is kept, else the next connection's pictures would seem to be late.
    """

    def __init__(self) -> None:
        self._origin_ns: int | None = None
        self._lag_ns = 0
        self._shift_ns: int | None = None
        self._last_ns = 0

    @property
    def running(self) -> bool:
        """True if sound of this connection has a place in media time, which its first picture decides."""
        return self._shift_ns is not None

    def pause(self) -> None:
        """The connection is over."""
        self._shift_ns = None

    def now(self, now_ns: int) -> int:
        """The media time that a picture captured at monotonic ``now_ns`` would have."""
        return 0 if self._origin_ns is None else max(0, now_ns - self._origin_ns - self._lag_ns)

    def picture(self, stream_ns: int, arrived_ns: int) -> int:
        """The media time of a picture by the sender's time and that of its arrival."""
        if self._origin_ns is None:
            self._origin_ns = arrived_ns
        step = None if self._shift_ns is None else stream_ns + self._shift_ns - self._last_ns
        if step is None or not -_BACK_NS <= step <= _AHEAD_NS:
            self._shift_ns = self.now(arrived_ns) - stream_ns
        media_ns = self.sound(stream_ns)
        self._last_ns = media_ns
        self._lag_ns = min(self._lag_ns, arrived_ns - self._origin_ns - media_ns)
        return media_ns

    def sound(self, stream_ns: int) -> int:
        """The media time of sound of this connection; only while ``running``."""
        assert self._shift_ns is not None, "a picture comes first"
        return stream_ns + self._shift_ns
