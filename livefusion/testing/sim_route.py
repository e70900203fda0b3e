"""The ways that pictures and failures can take through a graph on a simulated device."""

import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from livefusion.core.geometry import Size
from livefusion.core.settings import Pace
from livefusion.devices.device import BodyKind, Device
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sinks.null import NullSink
from livefusion.media.sinks.sink import PictureSink
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.ends import PictureSource
from livefusion.testing.nvcodec import stand_in_codecs
from livefusion.testing.packet_sink import PacketSink
from livefusion.testing.performer_clip import render_clip

SMALL = Size(320, 240)
FPS = 30
_CLIP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Route:
    """A way through the graph: which bodies run, where pictures come from, what fails, how often is searched.

    With ``on_chip`` the stand-ins of NVDEC and NVENC decode and encode. A stage that ``recovers`` is back for
    the next frame; one that does not misses all the rest. A route that is not ``watched`` ends in NVENC
    alone, as a live one does; else pictures are looked at on the host, and encoded in another size too.
    """

    name: str
    kind: BodyKind = "cuda"
    from_file: bool = False
    on_chip: bool = False
    fails: tuple[tuple[str, int], ...] = ()
    detect_every: int = 1
    recovers: bool = True
    watched: bool = True
    size: Size = SMALL
    face: int = 100

    @property
    def uri(self) -> str:
        """The performer, but for the seed of her motion."""
        return f"performer:?size={self.size}&fps={FPS}&face={self.face}"


LIVE = Route("live")
CHIP = Route("chip", from_file=True, on_chip=True)
ROUTES = (
    LIVE,
    CHIP,
    Route("file", from_file=True, detect_every=3),
    # The first launches are those of the warm-up.
    Route("failing", fails=(("letterbox_nv12", 3), ("colour_stats", 4))),
    Route("down", fails=(("colour_stats", 4),), recovers=False),
    # Where the device's memory is the host's, pictures go other ways in and out.
    Route("shared", kind="cpu"),
)


@dataclass(slots=True)
class RouteEnds:
    """Source and sinks of one run on a route, and what came out of them."""

    route: Route
    performer: int
    frames: int
    device: Device
    memory: MemorySink | None = None
    encoders: dict[int, PacketSink] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """The performer."""
        return f"{self.route.uri}&seed={self.performer}"

    @property
    def pictures(self) -> Sequence[KeptPicture]:
        """What the memory sink kept."""
        return list(self.memory.pictures) if self.memory else []

    @property
    def packets(self) -> Sequence[bytes]:
        """What the encoders made."""
        # By number: the threads of the sinks make them in any order.
        return [packet for _, sink in sorted(self.encoders.items()) for packet in sink.packets]

    def source(self, device: Device) -> PictureSource:
        """Where the pictures come from."""
        if not self.route.from_file:
            return PerformerSource(self.uri, device, pace=Pace.FAST, duration=self.frames / FPS)
        codecs = stand_in_codecs(self.device) if self.route.on_chip else None
        if codecs is not None:
            codecs.module.decoders = deque(maxlen=0)  # a decoder is gone, with its memory, when it is let go
        return FileSource(self._clip(), device, duration=self.frames / FPS, codecs=codecs)

    def sink_makers(self) -> list[Any]:
        """What the pipeline makes its sinks by."""
        size = self.route.size
        if not self.route.watched:
            return [partial(self._packets, 0, size)]
        sizes = (size, Size(size.height, size.height)) if self.route.on_chip else ()
        return [self._memory, self._null, *(partial(self._packets, *one) for one in enumerate(sizes))]

    def _memory(self, device: Device, output: OutputFormat) -> PictureSink:
        self.memory = MemorySink(device)
        return self.memory

    def _null(self, device: Device, output: OutputFormat) -> PictureSink:
        return NullSink()

    def _packets(self, number: int, size: Size, device: Device, output: OutputFormat) -> PictureSink:
        sink = PacketSink(device, output, stand_in_codecs(self.device), size)
        self.encoders[number] = sink
        return sink

    def _clip(self) -> Path:
        """The performer as a file, made once for each user."""
        route = self.route
        name = f"livefusion-sim-{route.size}-{FPS}-{route.face}-{self.performer}.mp4"
        path = Path(tempfile.gettempdir(), name)
        if not path.exists():
            with tempfile.TemporaryDirectory(dir=path.parent) as folder:
                part = Path(folder, path.name)
                render_clip(part, route.size, Fraction(FPS), route.face, _CLIP_SECONDS, self.performer)
                part.replace(path)
        return path
