"""From packets of a live stream's sound to samples in the ring."""

import logging
from typing import Any

import av
from av.error import FFmpegError

from livefusion.core.timing import NANOSECONDS, ticks_to_ns
from livefusion.media.network.sound_ring import RATE, SoundRing
from livefusion.media.network.stream_clock import StreamClock

_log = logging.getLogger(__name__)


class SoundDecoder:
    """Decodes the sound of one connection, once for all outputs; damaged packets are left out."""

    def __init__(self, ring: SoundRing, clock: StreamClock) -> None:
        self._ring = ring
        self._clock = clock
        self._resampler = _make_resampler()
        self._end: int | None = None

    def feed(self, packet: Any) -> None:
        """Decode a packet into the ring; sound before the first picture has no place there."""
        if not self._clock.running:
            return
        try:
            for frame in packet.decode():
                self._place(frame)
        except (FFmpegError, ValueError) as error:
            # The resampler refuses with ValueError what is not like its first frame.
            _log.debug("damaged sound at pts %s: %s", packet.pts, error)
            self._resampler = _make_resampler()

    def _place(self, frame: Any) -> None:
        if frame.pts is not None:
            media_ns = self._clock.sound(ticks_to_ns(frame.pts, frame.time_base))
            position = round(media_ns * RATE / NANOSECONDS)
        elif self._end is not None:  # the second of several in a packet
            position = self._end
        else:
            return
        for part in self._resampler.resample(frame):
            samples = part.to_ndarray()
            self._ring.write(position, samples)
            position += samples.shape[1]
        self._end = position


def _make_resampler() -> Any:
    return av.AudioResampler(format="fltp", layout="stereo", rate=RATE)
