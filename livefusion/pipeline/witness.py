"""A sink that counts what the pictures show which it passes on."""

from collections import Counter

from livefusion.core.events import Event
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.timing import Clock, SystemClock
from livefusion.media.sinks.sink import PictureSink, SinkStats
from livefusion.runtime.stage import StageContext


class Witness:
    """Stands before a sink and keeps the counts of the report: ``swapped``, ``safe``, ``raw``.

    They are of what the sink really took, repeats included, so a leak is counted where it would be seen.
    """

    def __init__(self, sink: PictureSink) -> None:
        self._sink = sink
        self._clock: Clock = SystemClock()
        self._counts: Counter[Outcome] = Counter()
        self.first_swapped_ns: int | None = None
        """Monotonic time at which the first swapped picture had been written."""

    @property
    def stats(self) -> SinkStats:
        """What the sink did so far."""
        return self._sink.stats

    def count(self, outcome: Outcome) -> int:
        """Pictures of that outcome that the sink took; other threads may look."""
        return self._counts[outcome]

    def open(self, context: StageContext) -> None:
        """Open the sink."""
        self._clock = context.clock
        self._sink.open(context)

    def write(self, item: RenderedFrame) -> None:
        """Pass a picture on and count it."""
        self._sink.write(item)
        self._counts[item.outcome] += 1
        if self.first_swapped_ns is None and item.outcome is Outcome.SWAPPED:
            self.first_swapped_ns = self._clock.now_ns()

    def handle(self, event: Event) -> None:
        """Pass an event on."""
        self._sink.handle(event)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()
