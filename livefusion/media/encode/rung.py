"""One encoding of the picture: an encoder, and all who take its packets."""

from dataclasses import replace
from typing import Any, Protocol

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.frame import Buffer, Frame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.encoder import Encoder
from livefusion.media.encode.outlet import CLOCK_RATE, TIME_BASE, EncodedPicture, Outlet
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.choose import ChosenEncoder

KEY_INTERVAL = CLOCK_RATE // 10
"""Ticks of media time between two key frames, at least, however many viewers ask."""
STILL_INTERVAL = CLOCK_RATE // 4
"""Ticks of media time after which a picture that is shown again is encoded again, too."""
# A new ceiling costs x264 a key frame: smaller changes are not worth one.
_WORTH = 0.15


class LimitedEncoder(Encoder, Protocol):
    """An encoder that can be told how much it may need."""

    def set_ceiling(self, ceiling: int) -> None:
        """Need no more than so many bits a second from the next frame on."""
        ...


class MakeEncoder(Protocol):
    """Makes an encoder for pictures of a device, with a ceiling in bits a second."""

    def __call__(self, device: Device, ceiling: int, /) -> LimitedEncoder:
        """One that is still to be opened."""
        ...


class Rung:
    """Encodes for all who watch by ``outlet``, and not while nobody does. For one thread at a time."""

    def __init__(self, outlet: Outlet, make: MakeEncoder) -> None:
        self.outlet = outlet
        self._make = make
        self._encoder: LimitedEncoder | None = None
        self._output: OutputFormat | None = None
        self._device: Device | None = None
        self._rate = 0
        self._key_pts: int | None = None
        self._shown: Buffer | None = None
        self._shown_pts = 0
        self.bytes = 0
        """What was encoded so far."""
        self.opened = 0
        """Encoders that were opened so far."""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._encoder.fallbacks if isinstance(self._encoder, ChosenEncoder) else ()

    def encode(self, frame: Frame, pts: int, device: Device, output: OutputFormat) -> None:
        """Encode a picture whose media time is ``pts`` at 90 kHz. ``OutputError`` if the encoder fails.

        One that is shown again, because no new one came in time, is encoded four times a second: viewers
        still see the one before, and on a busy machine it would take the time that the new one needs.
        """
        if not self.outlet.viewers:
            self._shown = None
            return
        if self._is_still(frame, pts):
            return
        wanted = replace(output, size=frame.size, time_base=TIME_BASE, audio=None)
        try:
            encoder = self._ready(device, wanted)
            for packet in encoder.encode(frame, keyframe=self._takes_key(pts)):
                self._send(packet, frame.size)
        except FFmpegError as error:
            text = f"the picture cannot be encoded ({error.strerror})"
            raise OutputError(text, "choose another size") from error
        self._shown, self._shown_pts = frame.buffer, pts

    def stop(self) -> None:
        """Close the encoder; it is opened anew when it is needed."""
        encoder, self._encoder = self._encoder, None
        self._shown = None
        if encoder is not None:
            encoder.close()

    def forget_time(self) -> None:
        """The next picture may be of another media time."""
        self._key_pts = None

    def _is_still(self, frame: Frame, pts: int) -> bool:
        """Whether viewers see this picture already, and lack nothing."""
        seen = frame.buffer is self._shown and pts - self._shown_pts < STILL_INTERVAL
        return seen and not self.outlet.wants_key

    def _ready(self, device: Device, output: OutputFormat) -> LimitedEncoder:
        rate, encoder = self.outlet.bitrate, self._encoder
        if encoder is None or output != self._output or device is not self._device:
            self.stop()
            encoder = self._make(device, rate)
            encoder.open(output)
            self.opened += 1
            self._encoder, self._output, self._device, self._rate = encoder, output, device, rate
        elif abs(rate - self._rate) > _WORTH * self._rate:
            encoder.set_ceiling(rate)
            self._rate = rate
        return encoder

    def _takes_key(self, pts: int) -> bool:
        """Whether this picture is to be a key frame: one wished for too early comes a little later."""
        too_early = self._key_pts is not None and pts - self._key_pts < KEY_INTERVAL
        return not too_early and self.outlet.take_key_request()

    def _send(self, packet: Any, size: Size) -> None:
        data = bytes(packet)
        if packet.is_keyframe:
            self._key_pts = packet.pts
        self.outlet.send(EncodedPicture(data, packet.pts, bool(packet.is_keyframe), size))
        self.bytes += len(data)
