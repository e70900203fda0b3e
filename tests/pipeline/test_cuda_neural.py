"""Networks in the whole graph on the CUDA device, with the host in the place of the GPU."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.core.frame import Outcome
from livefusion.core.settings import FaceSettings, Pace, Settings, SwapSettings
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces.kalman import LIBRARY
from livefusion.inference.catalog import MODELS_FOLDER_VARIABLE, UserModels
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.testing.face_standins import upscaler_standin
from livefusion.testing.host_twin import compiler
from livefusion.testing.mark import fixed_mark
from livefusion.testing.point_standins import fixed_landmarks_standin
from livefusion.testing.slow_clock import SlowClock
from livefusion.testing.standins.check import StandinFolder
from livefusion.testing.standins.truth import truth
from livefusion.testing.twin_device import TwinDevice

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

FRAMES = 5
TWO = "performer:?size=480x320&fps=30&face=110&faces=2&seed=5"
ONE = "performer:?size=320x240&fps=30&face=150&seed=5"
# Where the mesh has them in the second performer, and to the right and down: 2 % of the pixels move by > 3.
FIVE = np.array([[0.45, 0.36], [0.73, 0.39], [0.62, 0.53], [0.42, 0.63], [0.70, 0.64]]) + 0.03


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandinFolder:
    """Where the user's models lie, with the recogniser that networks need."""
    monkeypatch.setenv(MODELS_FOLDER_VARIABLE, str(tmp_path / "models"))
    made = StandinFolder(tmp_path)
    UserModels().add(made.helper("arcface").path, family="arcface")
    return made


class Counting(TwinDevice):
    """Notes how often each network ran."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.runs: dict[str, int] = {}

    def run(self, *work: Any, name: str, **more: Any) -> None:
        self.runs[name] = self.runs.get(name, 0) + 1
        super().run(*work, name=name, **more)


@dataclass
class Ran:
    """The pictures of a run, and its report."""

    pictures: list[KeptPicture]
    report: dict[str, Any]


def run(device: Device, uri: str, engine: Path, **more: Any) -> Ran:
    LIBRARY.filter_type()  # boxes rest where they are until it is imported
    sinks: list[MemorySink] = []

    def make_sink(where: Device, form: Any) -> MemorySink:
        sinks.append(MemorySink(where, limit=100))
        return sinks[0]

    def make_source(where: Device) -> PerformerSource:
        return PerformerSource(uri, where, pace=Pace.FAST, duration=FRAMES / 30)

    settings = Settings(input=uri, pace=Pace.FAST, engine=str(engine), **more)
    parts = Parts(device=device, source=make_source, sinks=[make_sink], clock=SlowClock(), mark=fixed_mark)
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    report = pipeline.report()
    assert report["device"]["fallbacks"] == []
    return Ran(sinks[0].pictures, report)


def same(one: Ran, other: Ran, mean: float = 0.12) -> None:
    """But for rounding, and a few pixels on the edges of triangles."""
    assert [picture.outcome for picture in other.pictures] == [Outcome.SWAPPED] * FRAMES
    for wanted, got in zip(one.pictures, other.pictures, strict=True):
        away = np.abs(wanted.luma.astype(int) - got.luma)
        assert away.mean() < mean
        assert (away > 3).mean() < 0.002
        assert np.abs(wanted.chroma.astype(int) - got.chroma).mean() < mean


WEARING = SwapSettings(grain=0.0)
# uri, pixel boost, whether any number of pictures is taken, runs of the network a frame
CASES = [(TWO, 1, True, 1), (TWO, 1, False, 2), (TWO, 2, True, 1), (ONE, 2, False, 4), (ONE, 3, True, 1)]


@pytest.mark.parametrize(("uri", "boost", "many", "runs"), CASES)
def test_network_makes_the_pictures_that_it_makes_on_the_cpu(
    uri: str, boost: int, many: bool, runs: int, folder: StandinFolder
) -> None:
    model = folder.swap(truth("inswapper_128"), any_number=many)
    swap = WEARING.model_copy(update={"pixel_boost": boost})
    wanted = run(CpuDevice(), uri, model.path, swap=swap)
    device = Counting()
    got = run(device, uri, model.path, swap=swap)
    same(wanted, got)
    # Each bucket runs once while it warms up: of 4, 2 and 1 faces, or of one where the batch is fixed.
    buckets = 1 if not many else 3 if boost < 3 else 1
    assert device.runs[model.name] == FRAMES * runs + buckets * (1 if many else boost * boost)


def test_every_order_that_the_streams_allow_gives_the_same_bytes(folder: StandinFolder) -> None:
    model = folder.swap(truth("inswapper_128"), any_number=True)
    swap = WEARING.model_copy(update={"pixel_boost": 2})
    calm = run(Counting(), TWO, model.path, swap=swap).pictures
    wild = run(Counting(3), TWO, model.path, swap=swap).pictures
    for wanted, got in zip(calm, wild, strict=True):
        assert np.array_equal(wanted.luma, got.luma)
        assert np.array_equal(wanted.chroma, got.chroma)


def test_upscaler_and_landmarks_of_the_user_are_at_work(folder: StandinFolder, tmp_path: Path) -> None:
    model = folder.swap(truth("inswapper_128"))
    enhance = upscaler_standin(tmp_path / "finer.onnx", 4)
    landmarks = fixed_landmarks_standin(tmp_path / "points.onnx", "2dfan4", FIVE)
    wanted: list[Ran] = []
    for device in (CpuDevice(), Counting()):
        plain = run(device, ONE, model.path, swap=WEARING)
        finer = run(device, ONE, model.path, swap=WEARING, enhance=str(enhance))
        aligned = run(device, ONE, model.path, swap=WEARING, faces=FaceSettings(landmarks=str(landmarks)))
        assert finer.report["enhancer"] == {"restored": FRAMES, "bad": 0, "failure": None}
        assert "points" in {one["name"] for one in aligned.report["engine"]["models"]}
        for other in (finer, aligned):
            moved = np.abs(plain.pictures[2].luma.astype(int) - other.pictures[2].luma)
            assert 0.005 < (moved > 3).mean() < 0.6
        if wanted:
            same(wanted[0], finer, 0.2)  # steep waves: what is rounded moves more levels
            same(wanted[1], aligned)
        wanted = [finer, aligned]
