"""Whether memory stays flat over a long run."""

from statistics import linear_regression

from livefusion.cli.bench.child import run_child
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.live import CASES, clip
from livefusion.cli.bench.options import BenchOptions

SCENARIO = "soak"
SECONDS = 600.0
WARM_SECONDS = 120.0


def measure(options: BenchOptions) -> list[Figure]:
    """Run the first live case for ten minutes, and draw a line through the memory of the last eight."""
    source = clip(CASES[0], SECONDS, options)
    options.note(f"running for {SECONDS:g} s")
    output = options.folder / "soak.mp4"
    arguments = ["-i", str(source), "-o", str(output), "--pace", "realtime"]
    run = run_child(arguments, options.folder / "report.json")
    output.unlink()
    settled = [(seconds / 60, mib) for seconds, mib in run.memory if seconds > WARM_SECONDS]
    slope = linear_regression(*zip(*settled, strict=True)).slope
    frames, residence = run.report["frames"], run.report["latency_ms"]["written"]
    return [
        Figure(SCENARIO, "resident memory, slope after two minutes", slope, "MiB/min", "≤ 1"),
        Figure(SCENARIO, "resident memory at the end", settled[-1][1], "MiB"),
        Figure(SCENARIO, "dropped", sum(frames["dropped"].values()), "frames"),
        Figure(SCENARIO, "with encoding p95", residence["p95"], "ms"),
    ]
