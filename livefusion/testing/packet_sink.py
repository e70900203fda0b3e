"""A sink that keeps what an encoder makes of each picture."""

from dataclasses import replace

from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.nvcodec.encoder import NvencEncoder
from livefusion.media.sinks.sink import SinkStats
from livefusion.runtime.stage import StageContext


class PacketSink:
    """Encodes by NVENC, or its stand-in, in ``size``; ``packets`` holds the bytes of each picture."""

    def __init__(self, device: Device, output: OutputFormat, codecs: Codecs, size: Size) -> None:
        self._output = replace(output, size=size)
        self._encoder = NvencEncoder(codecs, device)
        self._stats = SinkStats("packets:")
        self.packets: list[bytes] = []

    @property
    def stats(self) -> SinkStats:
        """What came."""
        return self._stats

    def open(self, context: StageContext) -> None:
        """Open the encoder."""
        self._encoder.open(self._output)

    def write(self, item: RenderedFrame) -> None:
        """Encode the picture."""
        for packet in self._encoder.encode(item.frame):
            self.packets.append(bytes(packet))
            self._stats.bytes += len(self.packets[-1])
        self._stats.frames += 1

    def handle(self, event: Event) -> None:
        """Do nothing."""

    def close(self) -> None:
        """End the session, keep the packets."""
        self._encoder.close()
