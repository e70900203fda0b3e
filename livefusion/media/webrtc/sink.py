"""The finished picture for all who watch by WebRTC."""

from livefusion.core.errors import OutputError
from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.sink import SinkStats
from livefusion.runtime.stage import StageContext


class WebRtcSink:
    """Hands each picture to the encoder that all live outputs share."""

    def __init__(self, share: EncoderShare, device: Device, output: OutputFormat) -> None:
        self._share = share
        self._device = device
        self._output = output
        self._before = 0
        self._stats = SinkStats("webrtc:")

    @property
    def stats(self) -> SinkStats:
        """What was given out so far; frames that nobody watched count, too."""
        return self._stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Where encoding runs otherwise than it best would, and why."""
        return self._share.fallbacks

    def open(self, context: StageContext) -> None:
        """Take part; the encoder begins with the first viewer."""
        self._share.join(self._output)
        self._before = self._share.bytes - self._stats.bytes

    def write(self, item: RenderedFrame) -> None:
        """Encode a picture for those who watch. ``OutputError`` if the encoder fails."""
        self._stats.frames += 1
        try:
            self._share.write(item.frame, self._device, self._output)
        except OutputError as error:
            self._stats.errors.append(error.problem)
            raise
        self._stats.bytes = self._share.bytes - self._before

    def handle(self, event: Event) -> None:
        """Do nothing: a change of size is seen in the frames."""

    def close(self) -> None:
        """Take part no more; viewers keep their connection, and the last picture."""
        self._share.leave()
