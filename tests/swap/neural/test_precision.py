"""Networks in half precision: tested where they run, and run in single precision where that fails."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.errors import ModelError
from livefusion.core.face import Identity
from livefusion.devices.cpu import CpuDevice
from livefusion.inference.catalog import ModelFile, inspect
from livefusion.inference.network import Runnable
from livefusion.inference.session import Session
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.testing.standins.build import build_swap
from livefusion.testing.standins.check import StandinFolder, measure, performer
from livefusion.testing.standins.truth import truth

pytestmark = pytest.mark.unit

MOST = 1.0
HALF = truth("inswapper_128_half")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StandinFolder:
    return StandinFolder(tmp_path_factory.mktemp("standins"))


@pytest.fixture(scope="module")
def noor() -> Identity:
    return IdentityLibrary().load("noor")


class AsOnGpu(Session):
    """A session that is said to run on a GPU; what it gives in halves is changed by ``spoil``."""

    spoil: Any = staticmethod(lambda array: None)

    def __init__(self, *one: Any, **more: Any) -> None:
        super().__init__(*one, **more)
        self.device_name = "cuda:0"

    def bind(self, inputs: Any, outputs: Any = None) -> Any:
        bound = super().bind(inputs, outputs)
        return bound if self.entry.widened else _Spoiled(bound, outputs, self.spoil)


class _Spoiled:
    def __init__(self, bound: Runnable, outputs: Any, spoil: Any) -> None:
        self.prepare, self._bound, self._outputs, self._spoil = bound.prepare, bound, outputs, spoil

    def run(self) -> None:
        self._bound.run()
        for array in self._outputs.values():
            self._spoil(array)


def noise(array: np.ndarray) -> None:
    array += np.random.default_rng(0).normal(0, 0.1, array.shape).astype(array.dtype)


def grain(array: np.ndarray) -> None:
    array += np.random.default_rng(0).normal(0, 0.002, array.shape).astype(array.dtype)


def nothing(array: np.ndarray) -> None:
    array[...] = np.nan


def black(array: np.ndarray) -> None:
    array[...] = 0


def tried(model: ModelFile, folder: StandinFolder, spoil: Any = None) -> NeuralEngine:
    """An engine that was warmed up; with ``spoil`` on what passes for a GPU."""
    session: Session | None = None
    if spoil is not None:

        class Spoiled(AsOnGpu):
            pass

        Spoiled.spoil = staticmethod(spoil)
        session = Spoiled(model.entry)
    engine = NeuralEngine(CpuDevice(), model, session=session, find=folder.finder(HALF))
    engine.warm_up()
    return engine


WRONG = [(noise, "dB"), (nothing, "no picture"), (black, "one colour")]


@pytest.mark.parametrize(("spoil", "why"), WRONG, ids=[why for _, why in WRONG])
def test_halves_that_fail_the_test_run_in_single_precision(
    spoil: Any, why: str, folder: StandinFolder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        engine = tried(folder.swap(HALF), folder, spoil)
    assert engine.session.precision == "fp32"
    (fallback,) = engine.session.fallbacks
    assert (fallback.wanted, fallback.got) == ("inswapper_128_half in fp16", "fp32")
    assert why in fallback.reason
    assert [one.message.endswith("it runs in fp32") for one in caplog.records] == [True]


def test_halves_that_pass_stay_halves(folder: StandinFolder) -> None:
    engine = tried(folder.swap(HALF), folder, grain)
    assert (engine.session.precision, engine.session.fallbacks) == ("fp16", ())


@pytest.mark.parametrize("spoil", [noise, nothing])
def test_single_precision_that_fails_is_refused(spoil: Any, folder: StandinFolder) -> None:
    with pytest.raises(ModelError):
        tried(folder.swap(truth("inswapper_128")), folder, spoil)


def test_yardstick_is_single_precision(folder: StandinFolder) -> None:
    """A file whose halves run over on the CPU as well: its picture there is no measure for the GPU's."""
    engine = tried(folder.swap(HALF, large=True), folder, nothing)
    assert engine.session.precision == "fp32"


def test_a_file_that_runs_over_gives_its_known_function(
    folder: StandinFolder, noor: Identity, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    swap = folder.swap
    monkeypatch.setattr(folder, "swap", lambda one, **more: swap(one, large=True))
    with caplog.at_level(logging.WARNING, "livefusion.swap"):
        assert measure(HALF, folder, noor, performer(230, 2)) <= MOST
    (record,) = caplog.records
    assert (
        record.message == "inswapper_128_half_large gives something that is no picture here; it runs in fp32"
    )


@pytest.mark.parametrize(
    ("name", "called"), [("inswapper_128", "inswapper_128_fp16"), (HALF.name, "inswapper_128")]
)
def test_precision_is_told_by_the_file_and_not_by_its_name(
    name: str, called: str, folder: StandinFolder, tmp_path: Path
) -> None:
    one = truth(name)
    model = inspect(build_swap(one, tmp_path / f"{called}.onnx"))
    engine = NeuralEngine(CpuDevice(), model, find=folder.finder(one))
    engine.warm_up()
    assert engine.session.precision == {"float32": "fp32", "float16": "fp16"}[one.inner]
