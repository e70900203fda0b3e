"""The two ends of the graph: what INPUT and OUTPUT on the command line become."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from livefusion.core.errors import GraphError
from livefusion.core.settings import Pace, RecordingSettings, Settings
from livefusion.devices.device import Device
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import AudioFeed, InputFormat, OutputFormat
from livefusion.media.network.address import StreamAddress
from livefusion.media.sinks.file import FileSink
from livefusion.media.sinks.null import NullSink
from livefusion.media.sinks.shared_file import SharedFileSink
from livefusion.media.sinks.sink import PictureSink
from livefusion.media.sinks.split import Split
from livefusion.media.sinks.vcam import VirtualCameraSink
from livefusion.media.sources.camera import CameraRequest, CameraSource
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.uri import (
    CameraLocator,
    FileLocator,
    InputLocator,
    NullLocator,
    OutputLocator,
    PerformerLocator,
    VirtualCameraLocator,
    WebRtcLocator,
    WhipLocator,
    redact,
)
from livefusion.media.webrtc.exchange import Exchange
from livefusion.runtime.stage import Source

STALL_SECONDS = Fraction(1)
"""A recording is given no repeats before this: it keeps its frames' times, so a late one does no harm."""

STREAM_PATIENCE = Fraction(1, 8)
"""Streams neither: their encoder passes over repeats for longer, but a frame that one stands in for is lost.

That were 22 of 640 on two busy cores with repeats after two intervals of 30 fps, and are 4 with this."""


class PictureSource(Source, Protocol):
    """A source that knows what it will deliver before the graph is built."""

    @property
    def format(self) -> InputFormat:
        """What it delivers; known after ``probe``."""
        ...

    @property
    def audio(self) -> AudioFeed | None:
        """The sound of the input, for sinks that keep it."""
        ...

    def probe(self) -> InputFormat:
        """Open the input as far as is needed to know its format."""
        ...

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of that device from the next one on, at most so many at once.

        Called between two reads, also with the device it has, whose memory ran out: what the source holds
        there is let go of. The input stays open and goes on where it is; what is lost is logged.
        ``DeviceError`` if the device refuses, and then it may be called again.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a run reads and where it writes."""

    input: InputLocator
    outputs: tuple[OutputLocator, ...]

    @property
    def live(self) -> bool:
        """Whether one of the ends has a clock of its own, which the graph must keep."""
        in_file = isinstance(self.input, FileLocator)
        return not in_file or any(is_live(output) for output in self.outputs)

    def pace(self, settings: Settings) -> Pace:
        """The pace asked for, else that of the ends."""
        return settings.pace or (Pace.REALTIME if self.live else Pace.FAST)

    @property
    def encodes_live(self) -> bool:
        """Whether an output sends packets that a recording could keep as they are."""
        return any(isinstance(one, StreamAddress | WebRtcLocator | WhipLocator) for one in self.outputs)

    @property
    def input_files(self) -> tuple[Path, ...]:
        """Files that must not be overwritten."""
        return (self.input.path,) if isinstance(self.input, FileLocator) else ()


def open_source(
    locator: InputLocator,
    device: Device,
    settings: Settings,
    pace: Pace,
    exchange: Exchange | None = None,
) -> PictureSource:
    """The source behind INPUT, not opened yet. ``InputError`` if its options are wrong.

    ``exchange`` is where peers of WebRTC are met.
    """
    fps = None if settings.fps is None else Fraction(settings.fps).limit_denominator(1001)
    match locator:
        case FileLocator(path):
            return FileSource(path, device, pace=pace, duration=settings.duration)
        case CameraLocator(name):
            request = CameraRequest(name, settings.picture_size, settings.fps)
            return CameraSource(request, device, duration=settings.duration)
        case PerformerLocator(options):
            from livefusion.media.sources.performer import PerformerSource

            return PerformerSource(
                f"performer:{options}",
                device,
                pace=pace,
                duration=settings.duration,
                size=settings.picture_size,
                fps=fps,
            )
        case WebRtcLocator():
            from livefusion.media.webrtc.source import WebRtcSource

            return WebRtcSource(
                _required(exchange).inlet,
                device,
                size=settings.picture_size,
                fps=fps,
                duration=settings.duration,
            )
        case StreamAddress() as address:
            from livefusion.media.network.source import StreamSource

            uri = redact(settings.input or address.url)
            return StreamSource(address, uri, device, duration=settings.duration)


def make_sink(
    locator: OutputLocator,
    device: Device,
    output: OutputFormat,
    input_files: tuple[Path, ...],
    *,
    share: EncoderShare,
    exchange: Exchange | None = None,
    recording: RecordingSettings | None = None,
    encodes_live: bool = False,
) -> PictureSink:
    """The sink behind OUTPUT, not opened yet.

    ``share`` encodes once for all live outputs; ``exchange`` is where peers of WebRTC are met; ``recording``
    says how files are written; ``encodes_live`` that they may keep what is encoded for another output.
    """
    match locator:
        case FileLocator(path):
            recording = recording or RecordingSettings()
            form = _RecordingForm(Split.of(recording), input_files)
            shared = share if encodes_live and not recording.separate_encoder else None
            return _make_recording(path, device, output, form, shared)
        case VirtualCameraLocator(name):
            return VirtualCameraSink(device, output, camera=name)
        case WebRtcLocator():
            from livefusion.media.webrtc.sink import WebRtcSink

            return WebRtcSink(_required(exchange).share, device, output)
        case WhipLocator(url, token):
            from livefusion.media.webrtc.push_sink import WhipSink

            return WhipSink(url, token, share, device, output)
        case StreamAddress() as address:
            from livefusion.media.network.sink import StreamSink

            return StreamSink(address, redact(address.url), share, device, output)
        case NullLocator():
            return NullSink()


@dataclass(frozen=True, slots=True)
class _RecordingForm:
    split: Split
    inputs: tuple[Path, ...]


def _make_recording(
    path: Path, device: Device, output: OutputFormat, form: _RecordingForm, share: EncoderShare | None
) -> PictureSink:
    """A recording of what ``share`` encodes, or with an encoder of its own."""
    if share is not None:
        return SharedFileSink(path, device, output, share, inputs=form.inputs, split=form.split)
    return FileSink(path, device, output, inputs=form.inputs, split=form.split)


def is_live(locator: OutputLocator) -> bool:
    """Whether an output is watched as it comes: it counts on the cadence, and may be opened again."""
    return isinstance(locator, VirtualCameraLocator | StreamAddress | WebRtcLocator | WhipLocator)


def patience_of(locator: OutputLocator) -> Fraction | None:
    """For how long an output may show a picture before it is given it again; None keeps the cadence."""
    if not is_live(locator):
        return STALL_SECONDS
    return STREAM_PATIENCE if is_timed(locator) else None


def is_timed(locator: OutputLocator) -> bool:
    """Whether those who read an output get the media time of its pictures."""
    return not isinstance(locator, VirtualCameraLocator)


def _required(exchange: Exchange | None) -> Exchange:
    if exchange is None:
        raise GraphError(
            "webrtc: needs somebody who lets peers in", "give Parts(exchange=…), see server.door"
        )
    return exchange
