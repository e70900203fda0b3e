"""From the start of the process to the first swapped picture in the file."""

from statistics import median

from livefusion.cli.bench.child import run_child
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.live import CASES, clip
from livefusion.cli.bench.options import BenchOptions

SCENARIO = "start"
TRIES = 5


def measure(options: BenchOptions) -> list[Figure]:
    """Once to warm the caches, then five times; the bar is held against the median."""
    source = clip(CASES[0], options.seconds, options)
    times = [_first_swapped(str(source), options) for _ in range(TRIES + 1)][1:]
    return [
        Figure(SCENARIO, "first swapped picture, median", median(times), "s", "≤ 2"),
        Figure(SCENARIO, "first swapped picture, slowest", max(times), "s"),
    ]


def _first_swapped(source: str, options: BenchOptions) -> float:
    options.note("starting a run")
    output = options.folder / "start.mp4"
    arguments = ["-i", source, "-o", str(output), "--pace", "realtime", "--duration", "1"]
    run = run_child(arguments, options.folder / "report.json")
    output.unlink()
    return float(run.report["first_swapped"]["monotonic_ns"] - run.spawned_ns) / 1e9
