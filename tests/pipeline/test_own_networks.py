"""Networks that settings name beside the engine: found before the start, at work in the graph, reported."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.errors import ModelError
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace, Settings, SwapSettings
from livefusion.inference.catalog import MODELS_FOLDER_VARIABLE, UserModels
from livefusion.media.sinks.memory import MemorySink
from livefusion.media.sources.file import FileSource
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.own_networks import OwnNetworks
from livefusion.pipeline.parts import Parts
from livefusion.pipeline.render import ENHANCE, OCCLUDER, RUNGS
from livefusion.testing.face_standins import mask_standin, restorer_standin
from livefusion.testing.performer_clip import render_clip
from livefusion.testing.standins.check import StandinFolder
from livefusion.testing.standins.truth import truth

pytestmark = pytest.mark.media

FRAMES = 8


@pytest.fixture(autouse=True)
def nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODELS_FOLDER_VARIABLE, str(tmp_path / "models"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / "performer.mp4"
    render_clip(path, Size(320, 240), Fraction(30), 120, FRAMES / 30)
    return path


def run(clip: Path, **settings: Any) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The report, and the luma of every picture without the marks that differ from run to run."""
    kept: list[MemorySink] = []

    def sink(device: Any, output: Any) -> MemorySink:
        kept.append(MemorySink(device))
        return kept[-1]

    parts = Parts(
        source=lambda device: FileSource(clip, device, pace=Pace.FAST), sinks=[sink], mark=lambda: None
    )
    pipeline = Pipeline(Settings(device="cpu", **settings), parts=parts)
    try:
        pipeline.start()
        assert pipeline.wait(120)
    finally:
        pipeline.stop()
    return pipeline.report(), [one.luma for one in kept[0].pictures]


def test_both_are_at_work_in_the_graph_and_in_the_report(clip: Path, tmp_path: Path) -> None:
    enhance, occluder = tmp_path / "any.onnx", tmp_path / "other.onnx"
    restorer_standin(enhance, 256)
    mask_standin(occluder, "xseg")
    swap = SwapSettings(enhance_blend=1.0)
    plain, without = run(clip, swap=swap)
    report, shown = run(clip, swap=swap, enhance=str(enhance), occluder=str(occluder))
    assert plain["enhancer"] is None
    frames = report["frames"]
    assert (frames["delivered"], frames["raw"]) == (FRAMES, 0)
    assert frames["swapped"] == plain["frames"]["swapped"] > 0
    assert report["enhancer"] == {"restored": frames["swapped"], "bad": 0, "failure": None}
    assert {"any", "other"} <= {one["name"] for one in report["engine"]["models"]}
    assert any((one != other).any() for one, other in zip(shown, without, strict=True))


def test_an_enhancer_that_breaks_shows_what_is_shown_without(clip: Path, tmp_path: Path) -> None:
    enhance = restorer_standin(tmp_path / "any.onnx", 256, brittle=0.61)
    plain, without = run(clip)
    report, shown = run(clip, enhance=str(enhance))
    assert report["enhancer"]["bad"] == report["frames"]["swapped"] == plain["frames"]["swapped"] > 0
    for one, other in zip(shown, without, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("setting", ["enhance", "occluder"])
def test_a_file_that_cannot_do_it_is_refused_before_anything_is_opened(
    setting: str, clip: Path, tmp_path: Path
) -> None:
    wrong = mask_standin(tmp_path / "x.onnx", "xseg") if setting == "enhance" else None
    wrong = wrong or restorer_standin(tmp_path / "x.onnx", 256)
    with pytest.raises(ModelError, match="does not"):
        run(clip, **{setting: str(wrong)})
    with pytest.raises(ModelError):
        run(clip, **{setting: str(tmp_path / "gone.onnx")})


def test_report_says_that_halves_did_not_do(clip: Path, tmp_path: Path) -> None:
    one, folder = truth("inswapper_128_half"), StandinFolder(tmp_path)
    UserModels().add(folder.helper("arcface").path, family="arcface")
    for large, precision in ((False, "fp16"), (True, "fp32")):
        model = folder.swap(one, large=large)
        report, _ = run(clip, engine=str(model.path))
        (told,) = (network for network in report["engine"]["models"] if network["name"] == model.name)
        assert told["precision"] == precision
        fallbacks = [one["got"] for one in report["device"]["fallbacks"] if model.name in one["wanted"]]
        assert fallbacks == (["fp32"] if large else [])
        assert report["frames"]["swapped"] > 0


def test_rungs_are_those_of_what_is_there(tmp_path: Path) -> None:
    assert OwnNetworks().rungs == RUNGS
    both = OwnNetworks(Settings(enhance="one.onnx", occluder="other.onnx"))
    assert both.rungs == (ENHANCE, OCCLUDER, *RUNGS)
