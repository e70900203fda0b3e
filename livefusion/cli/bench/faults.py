"""A thousand things go wrong in the running graph, and nobody's face is to be seen."""

import gc
import random
from statistics import median

import numpy as np

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.cli.bench.sheet import write_sheet
from livefusion.core.color import ColorInfo
from livefusion.core.frame import Outcome
from livefusion.faces.embed import cosine
from livefusion.testing.chaos_run import ChaosResult, draw_script, run_chaos
from livefusion.testing.injections import Reels
from livefusion.testing.judge import Sample
from livefusion.testing.likeness import Likeness
from livefusion.testing.panic_run import run_panics

PER_RUN = 25
PANICS, PANIC_FPS = 24, 30
PANIC_BAR_MS = 1000 / PANIC_FPS + 5
_MOST_RUNS = 3
"""So many times the runs that would do if every injection struck."""


def measure(options: BenchOptions) -> list[Figure]:
    """Inject ``options.faults`` faults into many short runs, then panic with hung stages."""
    options.note("faults: drawing the scenes")
    reels = Reels.draw(options.seed)
    total = ChaosResult()
    runs = 0
    while total.struck.total() < options.faults and runs * PER_RUN < _MOST_RUNS * options.faults:
        runs += 1
        rng = random.Random(options.seed * 1_000 + runs)
        result = run_chaos(reels, draw_script(rng, PER_RUN), options.seed * 1_000 + runs)
        total.add(result)
        gc.collect()  # a graph is full of cycles, and the networks of a hundred runs would not fit
        options.note(f"faults: {total.struck.total()} of {options.faults}, raw faces {len(total.raw)}")
        for exposure in result.raw[:3]:
            options.note(f"raw face in picture {exposure.seq}, called {exposure.outcome}: {exposure.during}")
        for trouble in result.unrecovered:
            options.note(f"not swapped again within six seconds: {trouble}")
    options.note(f"faults: {PANICS} panics with a hung stage")
    panics = run_panics(reels, PANICS, options.seed, fps=PANIC_FPS)
    if options.keep:
        _keep(options, total)
    return _figures(total, panics, _likest(total.samples, reels.here.color))


def _figures(total: ChaosResult, panics: list[float], likest: float) -> list[Figure]:
    resumed = total.resumed_ms
    rows: list[tuple[str, float, str, str]] = [
        ("injections", total.struck.total(), "", ""),
        *((f"injections: {name}", count, "", "") for name, count in sorted(total.struck.items())),
        ("pictures judged", total.pictures, "", ""),
        *((f"pictures {outcome}", total.outcomes[outcome], "", "") for outcome in Outcome),
        ("raw faces", len(total.raw), "", "= 0"),
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
