"""A thousand things go wrong in the running graph, and nobody's face is to be seen."""

import gc
import random
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from livefusion.cli.bench.fault_tally import NAME, FaultTally
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.cli.bench.sheet import write_sheet
from livefusion.core.color import ColorInfo
from livefusion.core.frame import Outcome
from livefusion.faces.embed import cosine
from livefusion.testing.chaos_run import draw_script, run_chaos
from livefusion.testing.court import ChaosResult
from livefusion.testing.injections import Reels
from livefusion.testing.judge import Sample
from livefusion.testing.likeness import Likeness
from livefusion.testing.panic_run import run_panics
from livefusion.testing.storm import run_storm

PER_RUN, PER_STORM = 25, 200
MOST_ONE_BY_ONE = 500
"""Faults that the graph gets over before the next one: 0.4 s each, of which the rest would take hours."""
PANICS, PANIC_FPS = 24, 30
PANIC_BAR_MS = 1000 / PANIC_FPS + 5
_FRAGILE_EVERY = 5
_MOST_RUNS = 3
"""So many times the runs that would do if every injection struck."""


def measure(options: BenchOptions) -> list[Figure]:
    """Inject ``options.faults`` faults: some one by one, most in storms; then panic with hung stages.

    With ``--keep DIR`` each run is noted there, and a measurement that was ended goes on where it was.
    """
    options.note("faults: drawing the scenes")
    reels = Reels.draw(options.seed)
    tally = FaultTally(options.folder / NAME if options.keep else None)
    one_by_one = min(options.faults // 4 or options.faults, MOST_ONE_BY_ONE)
    _run(options, tally, one_by_one, PER_RUN, partial(_one_by_one, reels))
    _run(options, tally, options.faults, PER_STORM, partial(_storm, reels))
    options.note(f"faults: {PANICS} panics with a hung stage")
    panics = run_panics(reels, PANICS, options.seed, fps=PANIC_FPS)
    if options.keep:
        _keep(options, tally.total)
    return _figures(tally, panics, _likest(tally.total.samples, reels.here.color))


def _one_by_one(reels: Reels, faults: int, seed: int) -> ChaosResult:
    return run_chaos(reels, draw_script(random.Random(seed), faults), seed)


def _storm(reels: Reels, faults: int, seed: int) -> ChaosResult:
    return run_storm(reels, faults, seed, fragile=seed % _FRAGILE_EVERY == 0)


def _run(
    options: BenchOptions, tally: FaultTally, until: int, per_run: int, run: Callable[[int, int], ChaosResult]
) -> None:
    """Runs of so many faults each, until there are so many in all."""
    tried = 0
    while tally.total.struck.total() < until and tried * per_run < _MOST_RUNS * until + per_run:
        tried += 1
        seed = options.seed * 100_000 + tried
        name = f"{per_run} faults, seed {seed}"
        if tally.has(name):
            continue
        result = run(min(per_run, until), seed)
        tally.add(name, result)
        gc.collect()  # a graph is full of cycles, and the networks of a hundred runs would not fit
        options.note(f"faults: {tally.total.struck.total()} of {options.faults}, raw faces {tally.raw}")
        for exposure in result.raw[:3]:
            options.note(f"raw face in picture {exposure.seq}, called {exposure.outcome}: {exposure.during}")
        for trouble in result.unrecovered:
            options.note(f"not swapped again within twenty seconds: {trouble}")


def _figures(tally: FaultTally, panics: list[float], likest: float) -> list[Figure]:
    total = tally.total
    resumed = total.resumed_ms
    rows: list[tuple[str, float, str, str]] = [
        ("injections", total.struck.total(), "", ""),
        *((f"injections: {name}", count, "", "") for name, count in sorted(total.struck.items())),
        ("pictures judged", total.pictures, "", ""),
        *((f"pictures {outcome}", total.outcomes[outcome], "", "") for outcome in Outcome),
        ("raw faces", tally.raw, "", "= 0"),
        ("most skin untouched", 100 * total.largest_share, "%", ""),
        ("cosine to performer in samples, most", likest, "", "< 0.9"),
        ("order violations", total.out_of_order, "", "= 0"),
        ("threads left", len(total.threads_left), "", "= 0"),
        ("not recovered", len(total.unrecovered), "", "= 0"),
        ("crashed stage resumes, median", median(resumed) if resumed else 0.0, "ms", ""),
        ("crashed stage resumes, most", max(resumed, default=0.0), "ms", "≤ 300"),
        ("longest time without a picture", total.gap_ms, "ms", ""),
        ("panic to slate, median", median(panics), "ms", ""),
        ("panic to slate, most", max(panics), "ms", f"≤ {PANIC_BAR_MS:.1f}"),
    ]
    return [Figure("faults", *row) for row in rows]


def _likest(samples: list[Sample], color: ColorInfo) -> float:
    """The highest cosine between a face in a sampled picture and the performer's in the shot behind it."""
    likeness, highest = Likeness(), -1.0
    for sample in samples:
        raw = likeness.rgb(sample.shot.luma, sample.shot.chroma, color)
        shown = likeness.rgb(sample.luma, sample.chroma, color)
        for truth in sample.shot.truths:
            if not truth.hidden.any():
                pair = (likeness.embedding(picture, truth.landmarks) for picture in (raw, shown))
                highest = max(highest, cosine(*pair))
    return highest


def _keep(options: BenchOptions, total: ChaosResult) -> None:
    """Leave pictures for people to look at: samples, and every raw face beside its source."""
    for name, pairs in (
        ("samples", [(sample.luma, sample.shot.luma) for sample in total.samples]),
        ("raw", [(exposure.luma, exposure.shot.luma) for exposure in total.raw]),
    ):
        tiles = [np.hstack(pair) for pair in pairs if pair[0].shape == total.samples[0].luma.shape]
        write_sheet(options.folder / f"faults-{name}.png", [np.dstack([tile] * 3) for tile in tiles[:24]])
