"""What the runtime itself costs, and that it keeps its promises under overload."""

from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median
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
# Not two: the beat between the rates would take seconds and look like a slope (simulated over 60 s: 0.13 to
# 0.8 ms/min of noise at 2, 0.06 at 2.21).
_SLOW_INTERVALS: Final = 2.21
_WINDOWS: Final = 12


@dataclass(frozen=True, slots=True)
class OverheadResult:
    """``overhead`` is from capture to the sink through ``stages`` null stages, in ms a frame."""

    stages: int
    frames: int
    overhead: LatencySummary


@dataclass(frozen=True, slots=True)
class OverloadResult:
    """A graph whose middle stage takes a little over two frame intervals.

    ``slope_ms_per_minute`` is that of the shortest residence in each twelfth of the run: a queue that grows
    lifts it, the beat between the two rates does not. ``inversions`` counts frames that came to the sink
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
    """Send items through three stages of which the second is less than half as fast, in real time."""
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
    if not sink.items:
        return 0.0
    start_ns = sink.items[0].captured_ns
    window_ns = (sink.items[-1].captured_ns - start_ns) // _WINDOWS + 1
    shortest: dict[int, float] = {}
    for item in sink.items:
        # The span of the sink itself is the last one; it starts at the hand-over.
        handed_over_ns = list(item.trace)[-1][1]
        window, way_ms = (item.captured_ns - start_ns) // window_ns, (handed_over_ns - item.captured_ns) / 1e6
        shortest[window] = min(way_ms, shortest.get(window, way_ms))
    # Theil and Sen: the median of the slopes between all pairs, so that a disturbed window does not count.
    pairs = combinations(sorted(shortest.items()), 2)
    slopes = [(later[1] - sooner[1]) / (later[0] - sooner[0]) for sooner, later in pairs]
    return median(slopes) * 60 * NANOSECONDS / window_ns if slopes else 0.0
