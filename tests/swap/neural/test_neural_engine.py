"""The engine itself: what it does with bad answers, masks that uncover, and faces that it cannot wear."""

import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import GraphError, IdentityError, ModelError
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.inference.catalog import ModelFile, inspect
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural import engine as module
from livefusion.swap.neural.engine import MOST_BAD, NeuralEngine
from livefusion.swap.neural.selftest import judge
from livefusion.swap.neural.standby import StandbyEngine
from livefusion.testing.host_twin import compiler
from livefusion.testing.standins.check import StandinFolder
from livefusion.testing.standins.truth import truth

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.unit

SIZE = Size(320, 240)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> StandinFolder:
    return StandinFolder(tmp_path_factory.mktemp("standins"))


@pytest.fixture
def track(posed: Any) -> FaceTrack:
    from livefusion.core.face import TrackState
    from livefusion.core.geometry import Box

    landmarks = posed(140.0)
    return FaceTrack(1, TrackState.SEEN, Box.around(landmarks), landmarks, age=9, quality=1.0)


class Bench:
    """A CPU, and frames of noise on it."""

    def __init__(self) -> None:
        self.device = CpuDevice()
        self.stream = self.device.stream("render")
        self.pool = FramePool(self.device, SIZE)
        self.rng = np.random.default_rng(0)

    def frame(self, seq: int = 0) -> Frame:
        buffer = self.pool.acquire(self.stream)
        buffer.luma[...] = self.rng.integers(40, 200, buffer.luma.shape, np.uint8)
        buffer.chroma[...] = self.rng.integers(100, 156, buffer.chroma.shape, np.uint8)
        return Frame(seq, "noise", Timestamp(seq, Fraction(1, 30)), 0, SIZE, ColorInfo(), buffer)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def spoiled(model: ModelFile, value: float, tmp_path: Path, *, what: str = "output") -> ModelFile:
    """The same network, but what it gives has ``value`` in place of each weight of its pattern."""
    loaded = onnx.load(model.path)
    for weight in loaded.graph.initializer:
        if list(weight.dims) == [1, 3, 128, 128] and what == "output":
            values = np.full(weight.dims, value, np.float32)
            weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
        if what == "masks" and list(weight.dims[-1:]) == [1]:
            values = np.full(weight.dims, value, np.float32)
            weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    path = tmp_path / f"spoiled{model.path.suffix}"
    path.write_bytes(loaded.SerializeToString())
    return inspect(path, family=model.family)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_mesh_face_takes_the_place_of_what_is_no_picture(
    value: float, folder: StandinFolder, bench: Bench, identity: Identity, track: FaceTrack, tmp_path: Path
) -> None:
    one = truth("inswapper_128")
    model = spoiled(folder.swap(one), value, tmp_path)
    engine = NeuralEngine(bench.device, model, find=folder.finder(one))
    engine.prepare(identity)
    frame = bench.frame()
    patch = engine.swap(frame, track, identity, SwapSettings(), bench.stream)
    mesh = MeshEngine(bench.device)
    mesh.prepare(identity)
    wanted = mesh.swap(frame, track, identity, SwapSettings(), bench.stream)
    assert patch is not None
    assert wanted is not None
    assert engine.bad == 1
    assert np.array_equal(patch.pixels, wanted.pixels)


def test_a_network_that_stays_bad_is_asked_no_more(
    folder: StandinFolder, bench: Bench, identity: Identity, track: FaceTrack, tmp_path: Path
) -> None:
    one = truth("inswapper_128")
    engine = NeuralEngine(bench.device, spoiled(folder.swap(one), np.nan, tmp_path), find=folder.finder(one))
    engine.prepare(identity)
    for seq in range(MOST_BAD + 5):
        assert engine.swap(bench.frame(seq), track, identity, SwapSettings(), bench.stream) is not None
    assert engine.bad == MOST_BAD
    (fallback,) = engine.fallbacks
    assert (fallback.wanted, fallback.got) == (engine.name, "mesh")


def test_a_network_without_a_picture_is_not_taken_into_use(
    folder: StandinFolder, bench: Bench, tmp_path: Path
) -> None:
    one = truth("inswapper_128")
    engine = NeuralEngine(bench.device, spoiled(folder.swap(one), np.nan, tmp_path), find=folder.finder(one))
    with pytest.raises(ModelError, match="no picture"):
        engine.warm_up()
    with pytest.raises(ModelError, match="one colour"):
        judge("x", engine.recipe, np.full((1, 3, 128, 128), 0.5, np.float32), None)
    other = np.random.default_rng(0).uniform(0, 1, (1, 3, 128, 128)).astype(np.float32)
    assert (judge("x", engine.recipe, other, other) or 0) > 100
    with pytest.raises(ModelError, match="than on the CPU"):
        judge("x", engine.recipe, other, other[..., ::-1])


@pytest.mark.parametrize(("value", "bad"), [(0.0, True), (0.3, True), (1.0, False), (np.nan, True)])
def test_a_mask_that_uncovers_the_face_is_not_followed(
    value: float,
    bad: bool,
    folder: StandinFolder,
    bench: Bench,
    identity: Identity,
    track: FaceTrack,
    tmp_path: Path,
) -> None:
    one = truth("dfm_224")
    model = spoiled(folder.swap(one), value, tmp_path, what="masks")
    engine = NeuralEngine(bench.device, model, find=folder.finder(one))
    engine.prepare(identity)
    patch = engine.swap(bench.frame(), track, identity, SwapSettings(), bench.stream)
    assert patch is not None
    assert engine.bad == int(bad)
    assert (patch.pixels[..., 3] > 200).mean() > 0.15


def test_what_cannot_be_is_said(
    folder: StandinFolder, bench: Bench, identity: Identity, track: FaceTrack
) -> None:
    one = truth("inswapper_128")
    with pytest.raises(ModelError, match="of the kind arcface"):
        NeuralEngine(bench.device, folder.swap(one), find=lambda family: None)
    engine = NeuralEngine(bench.device, folder.swap(one), find=folder.finder(one))
    with pytest.raises(GraphError, match="not prepared"):
        engine.swap(bench.frame(), track, identity, SwapSettings(), bench.stream)
    from dataclasses import replace

    with pytest.raises(IdentityError, match="painted"):
        engine.prepare(replace(identity, painted=True))


def test_two_faces_of_a_frame_have_patches_of_their_own(
    folder: StandinFolder, bench: Bench, identity: Identity, posed: Any
) -> None:
    from dataclasses import replace

    from livefusion.core.face import TrackState
    from livefusion.core.geometry import Box

    one = truth("inswapper_128")
    engine = NeuralEngine(bench.device, folder.swap(one), find=folder.finder(one))
    engine.prepare(identity)
    frame = bench.frame()
    first = FaceTrack(1, TrackState.SEEN, Box(0, 0, 1, 1), posed(100.0, (90.0, 120.0)))
    second = replace(first, id=2, landmarks=posed(100.0, (220.0, 120.0)))
    patches = [engine.swap(frame, track, identity, SwapSettings(), bench.stream) for track in (first, second)]
    assert patches[0] is not None
    assert patches[1] is not None
    before = patches[0].pixels.copy()
    assert patches[0].region != patches[1].region
    assert np.array_equal(before, patches[0].pixels)
    assert not np.shares_memory(patches[0].pixels, patches[1].pixels)


def test_the_network_takes_over_between_frames(
    folder: StandinFolder, bench: Bench, identity: Identity, track: FaceTrack
) -> None:
    from dataclasses import replace

    one = truth("inswapper_128")
    mesh = MeshEngine(bench.device)
    engine = StandbyEngine(
        mesh,
        lambda: NeuralEngine(bench.device, folder.swap(one), mesh=mesh, find=folder.finder(one)),
        live=True,
    )
    engine.prepare(identity)
    engine.warm_up()
    assert engine.swap(bench.frame(0), track, identity, SwapSettings(), bench.stream) is not None
    assert engine.name == "mesh"
    frame = bench.frame(1)
    engine.swap(frame, track, identity, SwapSettings(), bench.stream)
    assert engine.wait(timeout=60)
    engine.swap(frame, replace(track, id=2), identity, SwapSettings(), bench.stream)
    assert engine.name == "mesh"  # the frame is finished as it was begun
    engine.swap(bench.frame(2), track, identity, SwapSettings(), bench.stream)
    assert engine.name == "inswapper_128"
    other = replace(identity)
    engine.prepare(other)
    assert engine.swap(bench.frame(3), track, other, SwapSettings(), bench.stream) is not None


@pytest.mark.parametrize("error", [ModelError("it is damaged"), RuntimeError("foreign")])
def test_the_mesh_engine_goes_on_if_the_network_cannot(
    error: Exception, bench: Bench, identity: Identity, track: FaceTrack
) -> None:
    def load() -> NeuralEngine:
        raise error

    engine = StandbyEngine(MeshEngine(bench.device), load, live=True, wanted="mine")
    assert engine.fallbacks == ()
    engine.prepare(identity)
    engine.warm_up()
    assert engine.wait(timeout=60)
    assert engine.failure is not None
    (fallback,) = engine.fallbacks
    assert (fallback.wanted, fallback.got, fallback.reason) == ("mine", "mesh", engine.failure.problem)
    assert engine.swap(bench.frame(), track, identity, SwapSettings(), bench.stream) is not None
    assert engine.name == "mesh"
    with pytest.raises(type(error)):
        StandbyEngine(MeshEngine(bench.device), load, live=False).warm_up()


def test_live_no_picture_waits_to_see_the_performer(
    folder: StandinFolder, bench: Bench, identity: Identity, track: FaceTrack, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, may = truth("inswapper_128"), threading.Event()
    engine = NeuralEngine(bench.device, folder.swap(one), find=folder.finder(one), live=True)
    engine.prepare(identity)
    ask = engine._performers._ask
    monkeypatch.setattr(engine._performers, "_ask", lambda *one: may.wait(timeout=60) and ask(*one))
    weighed, plain = SwapSettings(identity_weight=0.0), SwapSettings()
    frame = bench.frame()

    def swapped(settings: SwapSettings) -> Any:
        patch = engine.swap(frame, track, identity, settings, bench.stream)
        assert patch is not None
        return patch.pixels.copy()

    wanted = swapped(plain)
    assert np.array_equal(swapped(weighed), wanted)
    may.set()
    assert engine._performers.wait(timeout=60)
    assert not np.array_equal(swapped(weighed), wanted)
    assert np.array_equal(swapped(plain), wanted)


def test_region_is_on_the_grid_of_the_light(posed: Any, bench: Bench) -> None:
    region = module.region_of(posed(140.0), bench.frame())
    assert {region.x % 8, region.y % 8, region.width % 8, region.height % 8} == {0}


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("seed", range(3))
def test_work_that_runs_late_gives_the_same_face(
    kind: str, seed: int, folder: StandinFolder, identity: Identity, track: FaceTrack
) -> None:
    from livefusion.testing.simdevice import SimDevice

    if kind == "cuda" and compiler() is None:
        pytest.skip("no C++ compiler for the host twin")
    one = truth("inswapper_128")
    boost, weight = ((1, 0.5), (2, 0.5), (1, 0.1))[seed]
    patches = []
    for device in (CpuDevice(), SimDevice(seed, kind=kind)):  # type: ignore[arg-type]
        engine = NeuralEngine(device, folder.swap(one), find=folder.finder(one), boost=boost)
        engine.prepare(identity)
        engine.warm_up()
        stream, rng = device.stream("render"), np.random.default_rng(5)
        picture = FramePool(device, SIZE).acquire(stream)
        for plane in (picture.luma, picture.chroma):
            device.copy(plane, rng.integers(60, 190, plane.shape, np.uint8), stream)
        buffer = picture.after(stream.record())
        frame = Frame(0, "noise", Timestamp(0, Fraction(1, 30)), 0, SIZE, ColorInfo(), buffer)
        patch = engine.swap(frame, track, identity, SwapSettings(identity_weight=weight), stream)
        assert patch is not None
        host = device.pinned(patch.pixels.shape, np.uint8)
        device.copy(host, patch.pixels, stream)
        stream.synchronize()
        whole = np.zeros((SIZE.height, SIZE.width, 4), np.uint8)
        whole[patch.region.luma] = host
        patches.append(whole.astype(int))
        assert engine.bad == 0
        if isinstance(device, SimDevice):
            device.assert_no_races()
    shown = (patches[0][..., 3] > 0) & (patches[1][..., 3] > 0)
    off = np.abs(patches[0] - patches[1])[shown]
    assert shown.mean() > 0.1
    assert (off <= 2).mean() > 0.995


def test_photos_tell_whose_face_it_is(folder: StandinFolder, identity: Identity, posed: Any) -> None:
    from dataclasses import replace

    from livefusion.swap.neural.source import mean_embedding, views_of
    from livefusion.swap.portrait import PORTRAIT_SIDE, portrait_of_photo

    photo = np.random.default_rng(0).integers(0, 256, (500, 600, 3), np.uint8)
    portraits = tuple(portrait_of_photo(photo, posed(300.0, (x, 250.0))) for x in (200.0, 400.0))
    assert portraits[0].rgb.shape == (PORTRAIT_SIDE, PORTRAIT_SIDE, 3)
    assert views_of(replace(identity, portraits=portraits)) == list(portraits)
    one, other = np.array([3.0, 0, 0], np.float32), np.array([0, 5.0, 0], np.float32)
    mean = mean_embedding([one, other])
    assert np.allclose(mean, np.array([4, 4, 0]) / np.sqrt(2))
