"""Every family of swap networks against a stand-in that computes a known function of crop and identity."""

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.pipeline.identities import IdentityLibrary

_FACE = 230


def measure(options: BenchOptions) -> list[Figure]:
    """How far each picture is from what the stand-in must give. Needs the package ``onnx``."""
    from livefusion.testing.standins.check import StandinFolder, measure, performer
    from livefusion.testing.standins.truth import TRUTHS

    folder, reel, identity = StandinFolder(options.folder), performer(_FACE), IdentityLibrary().load("")
    figures = []
    for truth in TRUTHS:
        options.note(f"families: {truth.name}")
        error = round(measure(truth, folder, identity, reel), 3)
        figures.append(Figure(truth.family, f"{truth.name}, mean error", error, "/255", "≤ 1"))
    return figures
