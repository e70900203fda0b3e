"""What an output really showed: the counts on which the report rests."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from livefusion.core.events import Event
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.select import Fallback, fallbacks_of
from livefusion.media.sinks.sink import PictureSink, SinkStats
from livefusion.runtime.stage import StageContext


class Witness:
    """Stands before a sink and keeps the counts of the report: what the sink really took.

    ``counts`` are of the source's frames alone, so that they add up; ``raw`` has repeats too, so that a leak
    is counted as often as it was seen.
    """

    def __init__(self, sink: PictureSink) -> None:
        self._sink = sink
        self._clock: Clock = SystemClock()
        self.counts: Counter[Outcome] = Counter()
        self.raw = 0
        self.first_swapped_ns: int | None = None
        """Monotonic time at which the first swapped picture had been written."""

    @property
    def stats(self) -> SinkStats:
        """What the sink did so far."""
        return self._sink.stats

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What the sink does otherwise than it best would."""
        return fallbacks_of(self._sink)

    def open(self, context: StageContext) -> None:
        """Open the sink."""
        self._clock = context.clock
        self._sink.open(context)

    def write(self, item: RenderedFrame) -> None:
        """Pass a picture on and count it."""
        self._sink.write(item)
        if not item.stands_in:
            self.counts[item.outcome] += 1
        self.raw += item.outcome is Outcome.RAW
        if self.first_swapped_ns is None and item.outcome is Outcome.SWAPPED:
            self.first_swapped_ns = self._clock.now_ns()

    def handle(self, event: Event) -> None:
        """Pass an event on."""
        self._sink.handle(event)

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()


class Output:
    """One output of a run, over all the sinks that were made for it: one, and one more for each new try.

    ``restart`` says that a sink that fails may be made anew, because nothing is lost by it; ``patience`` is
    and ``timed`` are those of ``runtime.pacer.Pacing``. Other threads may read the figures.
    """

    def __init__(
        self,
        make_sink: Callable[[], PictureSink],
        *,
        restart: bool = False,
        patience: Fraction | None = None,
        timed: bool = True,
    ) -> None:
        self.restart = restart
        self.timed = timed
        self.patience = patience
        self._make_sink = make_sink
        self._witnesses: list[Witness] = []

    def make(self) -> Witness:
        """A new sink, watched."""
        witness = Witness(self._make_sink())
        self._witnesses.append(witness)
        return witness

    def count(self, outcome: Outcome) -> int:
        """Frames of the source with that outcome that were written."""
        return sum(witness.counts[outcome] for witness in self._witnesses)

    @property
    def raw(self) -> int:
        """Pictures that showed a known face as it is, repeats included."""
        return sum(witness.raw for witness in self._witnesses)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What one of the sinks does otherwise than it best would."""
        return tuple(fallback for witness in self._witnesses for fallback in witness.fallbacks)

    @property
    def first_swapped_ns(self) -> int | None:
        """Monotonic time at which the first swapped picture had been written."""
        times = [witness.first_swapped_ns for witness in self._witnesses]
        return min((time for time in times if time is not None), default=None)

    @property
    def stats(self) -> SinkStats:
        """The figures of all sinks together."""
        parts = [witness.stats for witness in self._witnesses]
        return SinkStats(
            uri=parts[-1].uri if parts else "",
            frames=sum(part.frames for part in parts),
            bytes=sum(part.bytes for part in parts),
            errors=[error for part in parts for error in part.errors],
            reconnects=sum(part.reconnects for part in parts),
            encoders=sum(part.encoders for part in parts),
        )
