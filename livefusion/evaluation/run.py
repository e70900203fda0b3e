"""One run of the product's own graph on a clip, as pairs of pictures."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from queue import Empty, Queue
from threading import Event as Flag
from threading import Semaphore
from time import monotonic
from typing import Any

from livefusion.core.frame import Frame
from livefusion.core.settings import Pace, Settings
from livefusion.core.timing import NANOSECONDS
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.tap import Pair, PairSink, PasteTap, SourceTap
from livefusion.media.formats import InputFormat, OutputFormat
from livefusion.media.sources.uri import parse_input
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.ends import PictureSource, open_source
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.mark import no_mark
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.services import Limits

Change = Callable[[int, Picture], Picture | None]
"""Draws into the input: gives the picture of that number as it shall be, None to leave it."""
MakeSource = Callable[[Device], PictureSource]

_WAITING = 4
_AGAIN_S = 0.2
_LEAST_S = 0.08
"""Least time between two pictures: a detection takes 15 to 40 ms."""
_LOST_S = 20.0
"""A picture that has not come out after this was dropped."""
# A picture is looked at for a second or two while the graph waits, and a machine may be busy.
_LIMITS = Limits(stage_ns=60 * NANOSECONDS, sink_ns=3600 * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class Work:
    """What to run: the settings, and in place of their input a source or something drawn into it."""

    settings: Settings
    source: MakeSource | None = None
    change: Change | None = None


class PairRun:
    """Runs the graph picture by picture; iterate once. Raises what ends the run.

    A picture goes in when the one before it is out and has been looked at. So the detector beside keeps up
    with every picture, and what is found does not depend on how busy the machine is. On the CPU the pairs
    know what was pasted. The badge is switched off: it is no part of a face.
    """

    def __init__(self, work: Work, library: IdentityLibrary | None = None) -> None:
        self._work = work
        self._library = library
        self._inputs: dict[int, Picture] = {}
        self._pairs: Queue[Pair | None] = Queue(_WAITING)
        self._end = Flag()
        self._turn = Semaphore(0)
        self._last_turn = 0.0
        self._tap: SourceTap | None = None
        self.report: dict[str, Any] = {}
        """The product's own report, once the run is over."""

    @property
    def format(self) -> InputFormat | None:
        """What the input delivers; known with the first pair."""
        return self._tap.format if self._tap else None

    def __iter__(self) -> Generator[Pair]:
        settings = self._settings()
        device: CpuDevice | None = PasteTap() if settings.device in {"auto", "cpu"} else None
        parts = Parts(
            trail=NOWHERE,
            device=device,
            source=self._tapped,
            sinks=[self._sink],
            limits=_LIMITS,
            mark=no_mark,
        )
        pipeline = Pipeline(settings, library=self._library, parts=parts)
        try:
            pipeline.start()
            yield from self._until_end(pipeline)
            pipeline.wait()
        finally:
            self._end.set()
            pipeline.stop()
            self.report = pipeline.report()

    def _until_end(self, pipeline: Pipeline) -> Iterator[Pair]:
        while True:
            try:
                pair = self._pairs.get(timeout=_AGAIN_S)
            except Empty:
                if pipeline.wait(0):
                    return
                continue
            if pair is None:
                return
            yield pair
            self._turn.release()

    def _settings(self) -> Settings:
        settings = self._work.settings
        safety = settings.safety.model_copy(update={"badge": False, "badge_off_reason": "it is measured"})
        changes = {"safety": safety, "pace": Pace.FAST, "output": (), "report": None, "trace": None}
        return settings.model_copy(update=changes)

    def _tapped(self, device: Device) -> SourceTap:
        make = self._work.source or partial(_open, self._work.settings)
        source = make(device)
        self._tap = SourceTap(
            source, device, partial(self._keep, device), self._await_turn, self._work.change
        )
        return self._tap

    def _await_turn(self) -> None:
        """Wait until the last picture was looked at, and no less than the detector needs."""
        waited = 0.0
        while not self._turn.acquire(timeout=_AGAIN_S):
            waited += _AGAIN_S
            if self._end.is_set() or waited > _LOST_S:
                break
        self._end.wait(max(0.0, self._last_turn + _LEAST_S - monotonic()))
        self._last_turn = monotonic()

    def _keep(self, device: Device, frame: Frame, picture: Picture) -> None:
        if isinstance(device, PasteTap):
            device.take(frame.buffer.luma)  # what was pasted into the memory's former picture
        self._inputs[frame.seq] = picture

    def _sink(self, device: Device, form: OutputFormat) -> PairSink:
        return PairSink(device, self._inputs, self._pairs, self._end)


def _open(settings: Settings, device: Device) -> PictureSource:
    return open_source(parse_input(settings.input), device, settings, Pace.FAST)
