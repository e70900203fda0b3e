"""Every family of swap networks against a stand-in that computes a known function of crop and identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.pipeline.identities import IdentityLibrary

if TYPE_CHECKING:
    from livefusion.core.face import Identity
    from livefusion.testing.standins.check import StandinFolder

_FACE = 230
_WHOLE_SECONDS = 0.4
_MOST = 1.0


def measure(options: BenchOptions) -> list[Figure]:
    """How far each picture is from what the stand-in must give. Needs the package ``onnx``."""
    from livefusion.testing.standins.check import StandinFolder, measure, performer
    from livefusion.testing.standins.truth import TRUTHS

    folder, reel, identity = StandinFolder(options.folder), performer(_FACE), IdentityLibrary().load("")
    figures = []
    for truth in TRUTHS:
        options.note(f"families: {truth.name}")
        error = round(measure(truth, folder, identity, reel), 3)
        figures.append(Figure(truth.family, f"{truth.name}, mean error", error, "/255", f"≤ {_MOST:g}"))
    return figures + (_measure_whole(options, folder, identity) if options.whole else [])


def _measure_whole(options: BenchOptions, folder: StandinFolder, identity: Identity) -> list[Figure]:
    """The same through the whole graph: with the landmarks that it finds, and against those that are true."""
    from livefusion.media.sources.performer_options import PerformerOptions
    from livefusion.testing.standins.truth import TRUTHS
    from livefusion.testing.standins.whole import measure_whole

    clip, figures = PerformerOptions(face=_FACE, seed=3, turn=8, seconds=_WHOLE_SECONDS), []
    for truth in TRUTHS:
        options.note(f"families, whole: {truth.name}")
        whole = measure_whole(truth, folder, identity, clip)
        bar = round(_MOST + whole.allowed, 3)
        figures += [
            Figure(truth.family, f"{truth.name}, whole graph", round(whole.seen, 3), "/255", f"≤ {_MOST:g}"),
            Figure(truth.family, f"{truth.name}, from the truth", round(whole.true, 3), "/255", f"≤ {bar}"),
        ]
    return figures
