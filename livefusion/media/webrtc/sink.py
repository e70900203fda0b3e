"""The finished picture for all who watch by WebRTC."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from av.error import FFmpegError

from livefusion.core.errors import OutputError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.encoder import Encoder
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.choose import ChosenEncoder
from livefusion.media.sinks.sink import SinkStats
from livefusion.media.webrtc.outlet import TIME_BASE, EncodedPicture, Outlet
from livefusion.runtime.stage import StageContext

KEYFRAME_SECONDS = 10
"""Viewers ask for key frames when they need one; this is for those that cannot."""
# A new ceiling costs x264 a key frame: smaller changes are not worth one.
_WORTH = 0.15


class LimitedEncoder(Encoder, Protocol):
    """An encoder that can be told how much it may need."""

    def set_ceiling(self, ceiling: int) -> None:
        """Need no more than so many bits a second from the next frame on."""
        ...


def make_encoder(device: Device, ceiling: int) -> LimitedEncoder:
    """NVENC for pictures of a GPU that has one, else x264."""
    return ChosenEncoder(device, ceiling=ceiling, keyframe_seconds=KEYFRAME_SECONDS)


class WebRtcSink:
    """Encodes each picture once, whoever watches, and not at all while nobody does.

    Pictures keep their size: when it changes, the encoder is opened anew with a key frame.
    """

    def __init__(
        self,
        outlet: Outlet,
        device: Device,
        output: OutputFormat,
        *,
        make: Callable[[Device, int], LimitedEncoder] = make_encoder,
    ) -> None:
        self._outlet = outlet
        self._device = device
        self._output = replace(output, time_base=TIME_BASE, audio=None)
        self._make = make
        self._encoder: LimitedEncoder | None = None
        self._size: Size | None = None
        self._rate = 0
        self._last_pts: int | None = None
        self._stats = SinkStats("webrtc:")

    @property
    def stats(self) -> SinkStats:
        """What was given out so far; frames that nobody watched count, too."""
        return self._stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._encoder.fallbacks if isinstance(self._encoder, ChosenEncoder) else ()

    def open(self, context: StageContext) -> None:
        """Nothing to open: the encoder begins with the first viewer."""

    def write(self, item: RenderedFrame) -> None:
        """Encode a picture for those who watch. ``OutputError`` if the encoder fails."""
        self._stats.frames += 1
        frame = item.frame
        pts = frame.ts.rescale(TIME_BASE).pts
        if self._outlet.viewers == 0 or (self._last_pts is not None and pts <= self._last_pts):
            return
        self._last_pts = pts
        try:
            encoder = self._ready(frame.size)
            for packet in encoder.encode(frame, keyframe=self._outlet.take_key_request()):
                self._send(packet)
        except FFmpegError as error:
            text = f"the picture cannot be encoded ({error.strerror})"
            self._stats.errors.append(text)
            raise OutputError(text, "choose another size") from error

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """Stop the encoder; viewers keep their connection, and the last picture."""
        self._stop()

    def _ready(self, size: Size) -> LimitedEncoder:
        rate = self._outlet.bitrate
        encoder = self._encoder
        if encoder is None or size != self._size:
            self._stop()
            encoder = self._make(self._device, rate)
            encoder.open(replace(self._output, size=size))
            self._encoder, self._size, self._rate = encoder, size, rate
        elif abs(rate - self._rate) > _WORTH * self._rate:
            encoder.set_ceiling(rate)
            self._rate = rate
        return encoder

    def _send(self, packet: Any) -> None:
        data = bytes(packet)
        self._outlet.send(EncodedPicture(data, packet.pts, bool(packet.is_keyframe)))
        self._stats.bytes += len(data)

    def _stop(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.close()
