"""Time of our own code for each frame, kernels, copies, networks and codecs replaced by nothing."""

import os
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.live import Case, clip
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.geometry import Size
from livefusion.testing.host_time import STAGES, HostTimes, measure_host, record_networks

SCENARIO = "host"
CASE = Case(Size(1280, 720), 30, 170, {})
RUNS, WARM_UP, FRAMES = 3, 60, 600


def measure(options: BenchOptions) -> list[Figure]:
    """Three runs on one core."""
    frames = WARM_UP + FRAMES
    source = clip(CASE, float(Fraction(frames, CASE.fps)), options)
    options.note(f"host: {frames} frames recorded, then played {RUNS} times")
    # A process of its own: it stays on one core from then on.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        runs = pool.submit(_measure, source, frames).result()
    return [figure for number, run in enumerate(runs, 1) for figure in _figures(number, run)]


def _measure(source: Path, frames: int) -> list[HostTimes]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tape = record_networks(source, frames)
    return [measure_host(source, tape, WARM_UP, FRAMES) for _ in range(RUNS)]


def _figures(number: int, run: HostTimes) -> list[Figure]:
    milliseconds = run.stages / 1e6
    scenario = f"{SCENARIO}, run {number}"
    columns = [*zip(STAGES, milliseconds.T, strict=True), ("a frame", milliseconds.sum(axis=1))]
    columns.append(("the detector, beside", run.detector / 1e6))
    swapped = sum(outcome == "swapped" for outcome in run.outcomes)
    rows = [Figure(scenario, "swapped", swapped, "frames")]
    for name, values in columns:
        p50, p99 = np.percentile(values, (50, 99))
        rows.append(Figure(scenario, f"{name} p50", round(float(p50), 4), "ms"))
        bar = "≤ 1" if name == "a frame" else ""
        rows.append(Figure(scenario, f"{name} p99", round(float(p99), 4), "ms", bar))
    return rows
