"""Which picture a peer's sound belongs to: each of its streams counts from a number of its own."""

from collections import deque

from livefusion.core.timing import NANOSECONDS

VIDEO_RATE, SOUND_RATE = 90_000, 48_000
"""RTP ticks a second."""
_CYCLE = 1 << 32
_WINDOW = 128
_NTP_FRACTION = 1 << 32
# Further apart than this, in seconds, the clocks that a sender tells are not one clock.
_PLAUSIBLE = 1.0


class StreamClock:
    """What one stream's RTP time is in seconds: of its sender's clock if that told us, and by its arrival."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._last: int | None = None
        self._arrivals: deque[float] = deque(maxlen=_WINDOW)
        self._report: tuple[float, int] | None = None

    @property
    def is_reported(self) -> bool:
        """Whether the sender told its clock."""
        return self._report is not None

    def note_arrival(self, rtp_time: int, now_ns: int) -> None:
        """A packet of that RTP time came."""
        self._arrivals.append(now_ns / NANOSECONDS - self.extended(rtp_time) / self._rate)

    def note_report(self, ntp_time: int, rtp_time: int) -> None:
        """The sender says (SR) that the RTP time was that one at a time of its clock (NTP, 32.32 bits)."""
        if ntp_time:
            self._report = ntp_time / _NTP_FRACTION, self.extended(rtp_time)

    def by_report(self, rtp_time: int) -> float:
        """Seconds of the sender's clock; it ``is_reported``."""
        assert self._report is not None
        seconds, origin = self._report
        return seconds + (self.extended(rtp_time) - origin) / self._rate

    def by_arrival(self, rtp_time: int) -> float:
        """Seconds at which it would have come without delay, by the fastest of the last packets."""
        return min(self._arrivals, default=0.0) + self.extended(rtp_time) / self._rate

    def extended(self, rtp_time: int) -> int:
        """An RTP time counted on across its wraps."""
        if self._last is None:
            self._last = rtp_time
        step = (rtp_time - self._last) % _CYCLE
        self._last += step if step < _CYCLE // 2 else step - _CYCLE
        return self._last


class LipSync:
    """The two clocks of one sender. For one thread."""

    def __init__(self) -> None:
        self.video = StreamClock(VIDEO_RATE)
        self.sound = StreamClock(SOUND_RATE)
        self._video_time: int | None = None

    def note_picture(self, rtp_time: int, now_ns: int) -> None:
        """A packet of a picture of that RTP time came."""
        self._video_time = rtp_time
        self.video.note_arrival(rtp_time, now_ns)

    def video_time(self, sound_time: int) -> int | None:
        """The RTP time of the picture that belongs to the sound of that RTP time; None before the first one.

        By the sender's clock once it told both streams', until then by arrival: a sender's sound and pictures
        take about as long to get here.
        """
        video = self._video_time
        if video is None:
            return None
        ahead = self.sound.by_arrival(sound_time) - self.video.by_arrival(video)
        if self.video.is_reported and self.sound.is_reported:
            told = self.sound.by_report(sound_time) - self.video.by_report(video)
            if abs(told - ahead) < _PLAUSIBLE:
                ahead = told
        return (video + round(ahead * VIDEO_RATE)) % _CYCLE
