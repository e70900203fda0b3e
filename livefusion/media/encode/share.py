"""One encoder for every live output that wants the same packets."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.delay import OutputDelay
from livefusion.media.encode.encoder import Encoder
from livefusion.media.encode.opus import OpusReader
from livefusion.media.encode.outlet import CLOCK_RATE, TIME_BASE, DueSound, EncodedPicture, Outlet
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.choose import ChosenEncoder

_log = logging.getLogger(__name__)

KEYFRAME_SECONDS = 10
"""Viewers ask for key frames when they need one; this is for those that cannot."""
KEY_INTERVAL = CLOCK_RATE // 10
"""Ticks of media time between two key frames, at least, however many viewers ask."""
# A new ceiling costs x264 a key frame: smaller changes are not worth one.
_WORTH = 0.15
# Sound is read so far ahead of the picture, in seconds: the next picture may come a little late.
_AHEAD = 0.08


class LimitedEncoder(Encoder, Protocol):
    """An encoder that can be told how much it may need."""

    def set_ceiling(self, ceiling: int) -> None:
        """Need no more than so many bits a second from the next frame on."""
        ...


def make_encoder(device: Device, ceiling: int) -> LimitedEncoder:
    """NVENC for pictures of a GPU that has one, else x264."""
    return ChosenEncoder(device, ceiling=ceiling, keyframe_seconds=KEYFRAME_SECONDS)


class EncoderShare:
    """Encodes each picture once, and its sound, for all who watch by ``outlet``; nothing while nobody does.

    Each output that shares it, on a thread of its own, brings every picture that it is given: the first that
    brings one encodes it for all, and what the others bring of the same time, or older, is known already. So
    an output that hangs holds no other one up, and each picture is as new as the fastest of them. Pictures
    keep their size: when it changes, or their device, the encoder is opened anew with a key frame.
    Thread-safe.
    """

    def __init__(
        self,
        ceiling: int,
        *,
        make: Callable[[Device, int], LimitedEncoder] = make_encoder,
        clock: Clock | None = None,
    ) -> None:
        self.outlet = Outlet(ceiling)
        self._make = make
        self._clock = clock if clock is not None else SystemClock()
        self._lock = threading.Lock()
        self._members = 0
        self._encoder: LimitedEncoder | None = None
        self._output: OutputFormat | None = None
        self._device: Device | None = None
        self._rate = 0
        self._last_pts: int | None = None
        self._key_pts: int | None = None
        self._delay = OutputDelay()
        self._sound: OpusReader | None = None
        self.bytes = 0
        """What was encoded so far."""
        self.encoders = 0
        """Encoders that were opened so far: one, and one more for each new size or device."""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._encoder.fallbacks if isinstance(self._encoder, ChosenEncoder) else ()

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
            self._stop()
            self._last_pts = self._key_pts = None
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
                if self.outlet.viewers:
                    self._encode(frame, device, output)
            self._advance_sound()

    def _encode(self, frame: Frame, device: Device, output: OutputFormat) -> None:
        wanted = replace(output, size=frame.size, time_base=TIME_BASE, audio=None)
        try:
            encoder = self._ready(device, wanted)
            for packet in encoder.encode(frame, keyframe=self._takes_key()):
                self._send(packet, frame.size)
        except FFmpegError as error:
            text = f"the picture cannot be encoded ({error.strerror})"
            raise OutputError(text, "choose another size") from error

    def _ready(self, device: Device, output: OutputFormat) -> LimitedEncoder:
        rate, encoder = self.outlet.bitrate, self._encoder
        if encoder is None or output != self._output or device is not self._device:
            self._stop()
            encoder = self._make(device, rate)
            encoder.open(output)
            self.encoders += 1
            self._encoder, self._output, self._device, self._rate = encoder, output, device, rate
        elif abs(rate - self._rate) > _WORTH * self._rate:
            encoder.set_ceiling(rate)
            self._rate = rate
        return encoder

    def _takes_key(self) -> bool:
        """Whether this picture is to be a key frame: one wished for too early comes a little later."""
        assert self._last_pts is not None
        too_early = self._key_pts is not None and self._last_pts - self._key_pts < KEY_INTERVAL
        return not too_early and self.outlet.take_key_request()

    def _send(self, packet: Any, size: Size) -> None:
        data = bytes(packet)
        if packet.is_keyframe:
            self._key_pts = packet.pts
        self.outlet.send(EncodedPicture(data, packet.pts, bool(packet.is_keyframe), size))
        self.bytes += len(data)

    def _advance_sound(self) -> None:
        """Send the sound of now, or pass over it while nobody listens."""
        if self._sound is None:
            return
        until = self._delay.media_seconds(self._clock.now_ns()) + _AHEAD
        if not self.outlet.hearers:
            self._sound.skip(until)
            return
        for sound in self._sound.until(until):
            self.outlet.send(DueSound(sound, self._delay.due_ns(sound.pts / 48_000)))
            self.bytes += len(sound.data)

    def _stop(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.close()


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
