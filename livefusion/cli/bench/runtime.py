"""What the threads and mailboxes cost, and that delay does not grow under overload."""

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.testing.selfcheck import measure_overhead, measure_overload

SCENARIO = "runtime"
SLOPE_SECONDS = 30.0
"""In less, the noise of a machine at work passes for a slope: it is told, and not judged."""


def measure(options: BenchOptions) -> list[Figure]:
    """Six null stages; then a stage at half the rate of the input."""
    options.note("running six stages that do nothing")
    overhead = measure_overhead(min(options.seconds, 20)).overhead
    options.note(f"running a graph at twice its rate for {options.seconds:g} s")
    overload = measure_overload(options.seconds)
    lost = overload.captured - overload.delivered - sum(overload.dropped.values())
    is_short = options.seconds < SLOPE_SECONDS
    rows = (
        ("six null stages p50", overhead.p50, "ms", ""),
        ("six null stages p99", overhead.p99, "ms", "≤ 1"),
        (
            f"overload: slope of residence{' (run too short to judge)' if is_short else ''}",
            overload.slope_ms_per_minute,
            "ms/min",
            "" if is_short else "≤ 0.1",
        ),
        ("overload: residence p99", overload.residence.p99, "ms", ""),
        ("overload: out of order", overload.inversions, "frames", "= 0"),
        ("overload: dropped, by cause", sum(overload.dropped.values()), "frames", "> 0"),
        ("overload: not accounted for", lost, "frames", "= 0"),
    )
    return [Figure(SCENARIO, *row) for row in rows]
