"""One encoder for every live output that wants the same packets."""

import logging
import threading

from av.error import FFmpegError

from livefusion.core.frame import Frame
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.delay import OutputDelay
from livefusion.media.encode.opus import OpusReader
from livefusion.media.encode.outlet import TIME_BASE, DueSound, Outlet
from livefusion.media.encode.rung import LimitedEncoder, MakeEncoder, Rung
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.choose import ChosenEncoder

_log = logging.getLogger(__name__)

KEYFRAME_SECONDS = 10
"""Viewers ask for key frames when they need one; this is for those that cannot."""
# Sound is read so far ahead of the picture, in seconds: the next picture may come late, and a repeat in its
# place comes after an eighth of a second.
_AHEAD = 0.14


def make_encoder(device: Device, ceiling: int) -> LimitedEncoder:
    """NVENC for pictures of a GPU that has one, else x264."""
    return ChosenEncoder(device, ceiling=ceiling, keyframe_seconds=KEYFRAME_SECONDS)


class EncoderShare:
    """Encodes each picture once, and its sound, for all who watch by ``outlet``; nothing while nobody does.

    Each output that shares it, on a thread of its own, brings every picture that it is given: the first that
    brings one encodes it for all, and what the others bring of the same time, or older, is known already. So
    an output that hangs holds no other one up, and each picture is as new as the fastest of them. Pictures
    keep their size: when it changes, or their device, the encoder is opened anew with a key frame.

    Who cannot take half of the ceiling, while others can, is served by a second encoder at the rate of the
    weakest (``outlet.lower``): 3 ms of a core for each 720p picture, and only while there is somebody.
    Thread-safe.
    """

    def __init__(self, ceiling: int, *, make: MakeEncoder = make_encoder, clock: Clock | None = None) -> None:
        lower = Outlet(ceiling)
        self.outlet = Outlet(ceiling, lower)
        self._rungs = Rung(self.outlet, make), Rung(lower, make)
        self._clock = clock if clock is not None else SystemClock()
        self._lock = threading.Lock()
        self._members = 0
        self._last_pts: int | None = None
        self._delay = OutputDelay()
        self._sound: OpusReader | None = None
        self._sound_bytes = 0

    @property
    def bytes(self) -> int:
        """What was encoded so far."""
        return sum(rung.bytes for rung in self._rungs) + self._sound_bytes

    @property
    def encoders(self) -> int:
        """Encoders that were opened so far: one, and one more for each new size or device, or weak viewer."""
        return sum(rung.opened for rung in self._rungs)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._rungs[0].fallbacks or self._rungs[1].fallbacks

    def join(self, output: OutputFormat) -> None:
        """An output begins; with the first one the sound of the input is opened."""
        with self._lock:
            self._members += 1
            if self._members == 1:
                self._sound = _open_sound(output)
                self.outlet.has_sound = self._sound is not None

    def leave(self) -> None:
        """An output ends; with the last one the encoder does. Viewers keep their connection."""
        with self._lock:
            self._members -= 1
            if self._members > 0:
                return
            for rung in self._rungs:
                rung.stop()
                rung.forget_time()
            self._last_pts = None
            sound, self._sound = self._sound, None
            if sound is not None:
                sound.close()

    def write(self, frame: Frame, device: Device, output: OutputFormat) -> None:
        """Take a picture. ``OutputError`` if the encoder fails."""
        with self._lock:
            pts = frame.ts.rescale(TIME_BASE).pts
            if self._last_pts is None or pts > self._last_pts:
                self._last_pts = pts
                self._delay.note(frame.ts.seconds, self._clock.now_ns())
                whole, lower = self._rungs
                whole.encode(frame, pts, device, output)
                if lower.outlet.viewers:
                    lower.encode(frame, pts, device, output)
                else:  # GPUs have few encoders
                    lower.stop()
            self._advance_sound()

    def _advance_sound(self) -> None:
        """Send the sound of now, or pass over it while nobody listens."""
        if self._sound is None:
            return
        until = self._delay.media_seconds(self._clock.now_ns()) + _AHEAD
        outlets = [rung.outlet for rung in self._rungs if rung.outlet.hearers]
        if not outlets:
            self._sound.skip(until)
            return
        for sound in self._sound.until(until):
            due = DueSound(sound, self._delay.due_ns(sound.pts / 48_000))
            for outlet in outlets:
                outlet.send(due)
            self._sound_bytes += len(sound.data)


def _open_sound(output: OutputFormat) -> OpusReader | None:
    reader = output.audio.open() if output.audio is not None else None
    if reader is None:
        return None
    try:
        return OpusReader(reader)
    except (FFmpegError, ValueError) as error:
        _log.warning("the sound of the input is left out: %s", error)
        reader.close()
        return None
