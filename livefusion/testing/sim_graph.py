"""The real graph on a simulated device, along every route that pictures and failures can take."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np

from livefusion.core.errors import LiveFusionError
from livefusion.core.geometry import Size
from livefusion.core.settings import FaceSettings, Pace, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.device import BodyKind, Device, Event
from livefusion.devices.pool import DeviceBuffer
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sinks.null import NullSink
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.assemble import Parts, Pipeline
from livefusion.pipeline.ends import PictureSource
from livefusion.runtime.backoff import RestartPolicy
from livefusion.testing.failing_device import FailingDevice
from livefusion.testing.performer_clip import render_clip
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.slow_clock import SlowClock

FRAMES = 8
SIZE, FPS, FACE = Size(320, 240), 30, 100
_LONGEST_S = 120.0
"""A run that lacks a wait may hang; a whole one takes a second."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way through the graph: which bodies run, where pictures come from, what fails, how often is searched.

    A stage that ``recovers`` is back for the next frame; one that does not misses all the rest.
    """

    name: str
    kind: BodyKind = "cuda"
    from_file: bool = False
    fails: tuple[tuple[str, int], ...] = ()
    detect_every: int = 1
    recovers: bool = True


LIVE = Route("live")
ROUTES = (
    LIVE,
    Route("file", from_file=True, detect_every=3),
    # The first launches are those of the warm-up.
    Route("failing", fails=(("letterbox_nv12", 3), ("colour_stats", 4))),
    Route("down", fails=(("colour_stats", 4),), recovers=False),
    # Where the device's memory is the host's, pictures go other ways in and out.
    Route("shared", kind="cpu"),
)


@dataclass(frozen=True, slots=True)
class SimRun:
    """What came of one run on a simulated device; ``waits`` counts those that order anything."""

    pictures: Sequence[KeptPicture] = ()
    races: tuple[str, ...] = ()
    waits: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    ordering: Counter[str] = field(default_factory=Counter)
    left_out: str = ""
    error: str = ""


def run_simulated(
    seed: int,
    performer: int,
    *,
    drop_wait: int | None = None,
    drop_site: str | None = None,
    frames: int = FRAMES,
    route: Route = LIVE,
) -> SimRun:
    """Run the graph on a ``SimDevice``; a fault that a lost wait leads to is told as ``error``.

    What the host has waited for does not count between streams: with it, most waits could go unnoticed.
    """
    device = SimDevice(seed, kind=route.kind, drop_wait=drop_wait, drop_site=drop_site, host_orders=False)
    pictures: Sequence[KeptPicture] = ()
    error = ""
    with mock.patch.object(DeviceBuffer, "read_until", _noted_read):
        try:
            pictures = run_graph(device, performer, frames, route)
        except (LiveFusionError, TimeoutError) as fault:
            error = str(fault)
    races = tuple(str(race) for race in device.races)
    noted = device.mutation
    return SimRun(pictures, races, noted.count, noted.seen, noted.ordering, noted.left_out, error)


def run_graph(
    device: Device, performer: int, frames: int = FRAMES, route: Route = LIVE
) -> Sequence[KeptPicture]:
    """The pictures that the whole graph makes of the performer; her motion is that of seed ``performer``.

    ``TimeoutError`` if it does not end.
    """
    # Boxes rest where they are while the motion model is imported beside: the first run would differ.
    LIBRARY.filter_type()
    sinks = list[MemorySink]()

    def make_sink(where: Device, form: OutputFormat) -> MemorySink:
        sinks.append(MemorySink(where))
        return sinks[0]

    def make_source(where: Device) -> PictureSource:
        if route.from_file:
            return FileSource(_clip(performer), where, duration=frames / FPS)
        return PerformerSource(_uri(performer), where, pace=Pace.FAST, duration=frames / FPS)

    # The detector decides in the first frame; a simulated device takes longer than the 6 ms it is given. A
    # stage that failed comes back at once or never, so that it misses the same frames in every run.
    delay_ns = 0 if route.recovers else NANOSECONDS
    parts = Parts(
        device=FailingDevice(device, route.fails) if route.fails else device,
        source=make_source,
        sinks=[make_sink, lambda where, form: NullSink()],
        clock=SlowClock(),
        restarts=RestartPolicy(first_ns=delay_ns, longest_ns=delay_ns),
    )
    faces = FaceSettings(detect_every=route.detect_every)
    pipeline = Pipeline(Settings(input=_uri(performer), pace=Pace.FAST, faces=faces), parts=parts)
    try:
        pipeline.start()
        if not pipeline.wait(_LONGEST_S):
            raise TimeoutError("the graph hangs")
    finally:
        pipeline.stop()
    return list(sinks[0].pictures)


def same(first: Sequence[KeptPicture], second: Sequence[KeptPicture]) -> bool:
    """Whether two runs gave the same pictures, byte for byte, with the same outcomes."""
    return len(first) == len(second) and all(
        one.outcome is other.outcome
        and np.array_equal(one.luma, other.luma)
        and np.array_equal(one.chroma, other.chroma)
        for one, other in zip(first, second, strict=True)
    )


def _uri(performer: int) -> str:
    return f"performer:?size={SIZE}&fps={FPS}&face={FACE}&seed={performer}"


def _clip(performer: int) -> Path:
    """A second of the performer as a file, made once for each user and seed."""
    path = Path(tempfile.gettempdir(), f"livefusion-sim-{SIZE}-{FPS}-{FACE}-{performer}.mp4")
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            part = Path(folder, path.name)
            render_clip(part, SIZE, Fraction(FPS), FACE, 1.0, performer)
            part.replace(path)
    return path


def _noted_read(buffer: DeviceBuffer, event: Event) -> None:
    """``DeviceBuffer.read_until`` that can be left out like a wait."""
    home = buffer.home
    # Whether it orders anything shows only when the slot is used again.
    if not (isinstance(home, SimDevice) and home.mutation.skips(orders=False)):
        _read_until(buffer, event)


_read_until = DeviceBuffer.read_until
