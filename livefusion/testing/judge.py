"""A sink that trusts nobody: it holds every picture against the source's own pixels."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.events import Event
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.media.host import HostPictures
from livefusion.media.sinks.sink import SinkStats
from livefusion.provenance.badge import slate
from livefusion.runtime.stage import StageContext
from livefusion.testing.reel import Shot
from livefusion.testing.skin import RAW_SHARE

Plane = npt.NDArray[np.uint8]

_SAMPLE_EVERY = 97


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """A picture in which a raw face was seen.

    Its number, what was going wrong just then, what the graph thought of it, the share of untouched skin, its
    luma (h, w), and the shot that it shows.
    """

    seq: int
    during: str
    outcome: Outcome
    share: float
    luma: Plane
    shot: Shot


@dataclass(frozen=True, slots=True)
class Sighting:
    """One picture that the sink took: when, of which captured frame, what the graph thought of it.

    ``fresh`` is False for a picture that was not captured then, which is a repeat or a slate of the pacer's.
    """

    at_ns: int
    captured_ns: int
    outcome: Outcome
    fresh: bool
    slate: bool

    def shows_swap_since(self, since_ns: int) -> bool:
        """Whether it was captured after an instant, came through the graph, and is swapped."""
        return self.fresh and self.captured_ns > since_ns and self.outcome is Outcome.SWAPPED


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A copy of a picture, luma (h, w) and chroma (h/2, w/2, 2), and the shot that it was made of."""

    luma: Plane
    chroma: Plane
    shot: Shot


class Camera(Protocol):
    """What the judge knows of the source."""

    @property
    def trouble(self) -> str:
        """What is going wrong now."""
        ...

    def shots(self, captured_ns: int) -> Sequence[Shot]:
        """What a picture captured at that time may show, newest first."""
        ...

    def took(self, captured_ns: int) -> bool:
        """Whether a picture was captured at exactly that time, so that it is no repeat and no slate."""
        ...


class JudgeSink:
    """Counts raw faces and breaches of order.

    ``before_write`` is the place for a mishap of the sink itself.
    """

    def __init__(
        self,
        device: Device,
        camera: Camera,
        *,
        before_write: Callable[[], object] = lambda: None,
        name: str = "judge:",
    ) -> None:
        self.raw: list[Exposure] = []
        self.largest_share = 0.0
        self.out_of_order = 0
        self.sightings: list[Sighting] = []
        self.samples: list[Sample] = []
        self.outcomes: Counter[Outcome] = Counter()
        self.events: list[Event] = []
        self._host = HostPictures(device)
        self._camera = camera
        self._before_write = before_write
        self._stats = SinkStats(name)
        self._clock: Clock = SystemClock()
        self._last_seq = -1
        self._last_seconds = -1.0
        self._last_captured_ns = 0

    @property
    def stats(self) -> SinkStats:
        """What came."""
        return self._stats

    def is_well(self, since_ns: int) -> bool:
        """Whether the last picture was captured after an instant and is swapped."""
        return bool(self.sightings) and self.sightings[-1].shows_swap_since(since_ns)

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        self._clock = context.clock

    def write(self, item: RenderedFrame) -> None:
        """Judge a picture."""
        self._before_write()
        frame = item.frame
        at_ns = self._clock.now_ns()
        luma, chroma = self._host.planes(frame)
        is_slate = np.array_equal(luma, slate(frame.size, frame.color)[0])
        fresh = self._camera.took(frame.captured_ns)
        self.sightings.append(Sighting(at_ns, frame.captured_ns, item.outcome, fresh, is_slate))
        self._judge_order(item, fresh)
        self._judge_skin(item, luma)
        if fresh and self._stats.frames % _SAMPLE_EVERY == 0:
            shot = self._camera.shots(frame.captured_ns)[0]
            self.samples.append(Sample(luma.copy(), chroma.copy(), shot))
        self.outcomes[item.outcome] += 1
        self._stats.frames += 1
        self._stats.bytes += luma.nbytes

    def handle(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def close(self) -> None:
        """Keep everything."""

    def _judge_order(self, item: RenderedFrame, fresh: bool) -> None:
        frame = item.frame
        rises = frame.seq > self._last_seq and frame.ts.seconds > self._last_seconds
        self._last_seq, self._last_seconds = frame.seq, frame.ts.seconds
        if fresh:
            rises = rises and frame.captured_ns > self._last_captured_ns
            self._last_captured_ns = frame.captured_ns
        self.out_of_order += not rises

    def _judge_skin(self, item: RenderedFrame, luma: Plane) -> None:
        for shot in self._camera.shots(item.captured_ns):
            share = shot.untouched(luma)
            self.largest_share = max(self.largest_share, share)
            if share > RAW_SHARE:
                trouble = self._camera.trouble
                self.raw.append(Exposure(item.seq, trouble, item.outcome, share, luma.copy(), shot))
                return
