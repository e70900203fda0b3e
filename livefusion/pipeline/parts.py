"""What goes into a run in place of what settings name, and what can be seen of it from outside."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from livefusion.core.timing import Clock
from livefusion.devices.device import Device
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.sink import PictureSink
from livefusion.media.webrtc.exchange import Exchange
from livefusion.pipeline.ends import PictureSource
from livefusion.pipeline.mark import new_mark
from livefusion.provenance.audit import Trail
from livefusion.provenance.watermark import Watermark
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.services import Limits


@dataclass(frozen=True, slots=True)
class Progress:
    """How a run is going. ``total`` is the number of frames that are expected, None for a live input.

    ``left_out`` names the optional work that is not done now because frames come late.
    """

    fps: float
    p95_ms: float
    dropped: int
    tracks: int
    device: str
    delivered: int
    captured: int
    total: int | None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """Stand-ins for parts that settings would name: for embedding the graph, and for tests.

    ``trail`` is where the audit log is written: left out, the user's own, and ``NOWHERE`` for none.
    ``exchange`` is where peers are met if one of the ends is ``webrtc:``. ``mark`` gives the watermark of the
    run; only measurements, and tests that compare pixels, have a fixed one or none (``testing.mark``).
    """

    device: Device | None = None
    source: Callable[[Device], PictureSource] | None = None
    sinks: Sequence[Callable[[Device, OutputFormat], PictureSink]] = ()
    clock: Clock | None = None
    limits: Limits | None = None
    restarts: RestartPolicy | None = None
    exchange: Exchange | None = None
    trail: Trail | None = None
    mark: Callable[[], Watermark | None] = new_mark
