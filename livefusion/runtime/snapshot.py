"""What a graph tells of itself: immutable figures of one instant."""

from dataclasses import dataclass

from livefusion.runtime.latency import LatencySummary


@dataclass(frozen=True, slots=True)
class StageSnapshot:
    """A stage: how long it holds items (ms), and how it fared.

    ``fallbacks`` items were made by its fallback, ``failures`` times it raised or hung, ``restarts`` times it
    came back, ``late`` results came after it had been replaced, ``hung`` threads still hang.
    """

    latency: LatencySummary
    fallbacks: int
    failures: int
    restarts: int
    late: int
    hung: int
    degraded: bool
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SinkSnapshot:
    """A sink: frames of the source that it took, repeats and slates beside them, and how it fared.

    ``residence`` is from capture to the hand-over to the sink, ``written`` until the sink had written, both
    in ms. ``order`` counts items that came out of order and were refused; it has to be 0.
    """

    delivered: int
    repeated: int
    slates: int
    order: int
    residence: LatencySummary
    written: LatencySummary
    writes: LatencySummary
    reconnects: int
    failed: bool
    degraded: bool
    errors: tuple[str, ...]

    @property
    def frames(self) -> int:
        """All pictures that the sink has written."""
        return self.delivered + self.repeated + self.slates


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """A graph. ``dropped`` is by ``edge:cause``; ``elapsed_s`` is since the first read of the source."""

    running: bool
    elapsed_s: float
    captured: int
    source: LatencySummary
    stages: dict[str, StageSnapshot]
    sinks: dict[str, SinkSnapshot]
    dropped: dict[str, int]

    @property
    def degraded(self) -> bool:
        """True while a part fails too often."""
        stages, sinks = self.stages.values(), self.sinks.values()
        return any(stage.degraded for stage in stages) or any(sink.degraded for sink in sinks)

    @property
    def order(self) -> int:
        """Items that came to a sink out of order; it has to be 0."""
        return sum(sink.order for sink in self.sinks.values())
