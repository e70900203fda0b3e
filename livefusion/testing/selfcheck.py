"""What the runtime itself costs, and that it keeps its promises under overload."""

from dataclasses import dataclass
from itertools import pairwise
from statistics import linear_regression
from typing import Final

from livefusion.core.timing import NANOSECONDS
from livefusion.runtime.graph import Graph
from livefusion.runtime.latency import LatencySummary
from livefusion.testing.stages import (
    MemorySink,
    NullStage,
    ScriptedItem,
    ScriptedSource,
    SlowStage,
    fork_scripted,
)

_NULL_STAGES: Final = 6
# A little over two, so that the beat between the rates runs through within a second: at exactly two it took
# five, and looked like a slope.
_SLOW_INTERVALS: Final = 2.1


@dataclass(frozen=True, slots=True)
class OverheadResult:
    """``overhead`` is from capture to the sink through ``stages`` null stages, in ms a frame."""

    stages: int
    frames: int
    overhead: LatencySummary


@dataclass(frozen=True, slots=True)
class OverloadResult:
    """A graph whose middle stage takes a little over two frame intervals.

    ``slope_ms_per_minute`` is that of a line through the shortest residence of each second: a queue that
    grows lifts it, the beat between two rates does not. ``inversions`` counts frames that came to the sink
    after a newer one.
    """

    seconds: float
    captured: int
    delivered: int
    dropped: dict[str, int]
    residence: LatencySummary
    slope_ms_per_minute: float
    inversions: int


def measure_overhead(seconds: float = 5.0, fps: float = 60.0) -> OverheadResult:
    """Send items through six null stages and their real threads, in real time."""
    sink, frames = MemorySink(), max(1, round(seconds * fps))
    graph = _graph(sink, frames, fps)
    for number in range(_NULL_STAGES):
        graph.stage(f"null {number + 1}", NullStage)
    graph.run()
    return OverheadResult(_NULL_STAGES, frames, graph.snapshot().sinks["sink"].residence)


def measure_overload(seconds: float = 60.0, fps: float = 60.0) -> OverloadResult:
    """Send items through three stages of which the second has half the input's rate, in real time."""
    sink, frames = MemorySink(), max(1, round(seconds * fps))
    slow_ns = round(_SLOW_INTERVALS * NANOSECONDS / fps)
    graph = _graph(sink, frames, fps)
    graph.stage("before", NullStage)
    graph.stage("slow", lambda: SlowStage(slow_ns))
    graph.stage("after", NullStage)
    graph.run()
    figures = graph.snapshot()
    return OverloadResult(
        seconds=figures.elapsed_s,
        captured=figures.captured,
        delivered=figures.sinks["sink"].delivered,
        dropped=figures.dropped,
        residence=figures.sinks["sink"].residence,
        slope_ms_per_minute=_slope(sink),
        inversions=sum(later <= earlier for earlier, later in pairwise(sink.seqs)) + figures.order,
    )


def _graph(sink: MemorySink, frames: int, fps: float) -> Graph:
    graph = Graph(fork=fork_scripted)
    interval_ns = round(NANOSECONDS / fps)
    graph.source("source", lambda: ScriptedSource(map(ScriptedItem, range(frames)), interval_ns))
    graph.sink("sink", lambda: sink)
    return graph


def _slope(sink: MemorySink) -> float:
    """Milliseconds a minute by which the way to the sink grew longer."""
    shortest: dict[int, float] = {}
    for item in sink.items:
        # The span of the sink itself is the last one; it starts at the hand-over.
        handed_over_ns = list(item.trace)[-1][1]
        second, way_ms = item.captured_ns // NANOSECONDS, (handed_over_ns - item.captured_ns) / 1e6
        shortest[second] = min(way_ms, shortest.get(second, way_ms))
    if len(shortest) < 2:
        return 0.0
    return linear_regression([second / 60 for second in shortest], list(shortest.values())).slope
