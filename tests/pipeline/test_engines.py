"""What ``--engine`` may name, and what is said of what it may not."""

from pathlib import Path

import pytest

from livefusion.core.errors import ModelError, SettingsError
from livefusion.devices.cpu import CpuDevice
from livefusion.inference.catalog import MODELS_FOLDER_VARIABLE
from livefusion.pipeline.engines import EngineChoice
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.standby import StandbyEngine

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MODELS_FOLDER_VARIABLE, str(tmp_path / "models"))


@pytest.mark.parametrize("name", ["auto", "mesh"])
def test_what_ships_needs_no_model(name: str) -> None:
    choice = EngineChoice(name)
    choice.check()
    assert not choice.is_neural
    assert isinstance(choice.make(CpuDevice()), MeshEngine)


def test_a_name_that_nobody_knows_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="no engine 'inswaper'"):
        EngineChoice("inswaper")


@pytest.mark.parametrize("name", ["gone.onnx", "gone.dfm", "w600k_r50"])
def test_a_model_that_is_not_here_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        EngineChoice(str(tmp_path / name) if "." in name else name).check()


def test_the_recogniser_that_is_missing_is_named_before_anything_is_opened(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    from livefusion.testing.standins.build import build_swap
    from livefusion.testing.standins.truth import truth

    path = build_swap(truth("inswapper_128"), tmp_path / "renamed.onnx")
    choice = EngineChoice(str(path))
    assert choice.is_neural
    with pytest.raises(ModelError, match="of the kind arcface, and there is none"):
        choice.check()
    assert isinstance(choice.make(CpuDevice(), live=True), StandbyEngine)
    several = build_swap(truth("ghost_256"), tmp_path / "several.onnx")
    with pytest.raises(ModelError, match="several families"):
        EngineChoice(str(several)).check()
    with pytest.raises(ModelError, match=r"arcface with crossface_ghost|crossface_ghost"):
        EngineChoice(str(several), "ghost").check()
