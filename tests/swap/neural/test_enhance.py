"""New faces are restored in the live picture: by the network's function, or not at all."""

import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from restoring import FRAME_NS, LONG_S, engine_of, loading, play, restorer

from livefusion.core.alignment import five_points
from livefusion.core.errors import ModelError
from livefusion.core.face import Identity
from livefusion.core.frame import Frame
from livefusion.core.geometry import Region
from livefusion.core.patch import Patch
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.inference.catalog import inspect
from livefusion.pipeline.render import ENHANCE, RUNGS
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.swap.neural.engine import load_session
from livefusion.swap.neural.enhance import PatchRestorer
from livefusion.swap.neural.enhance_standby import Enhancer
from livefusion.swap.neural.verdict import MOST_BAD
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.face_standins import MIX, yolo_face_standin
from livefusion.testing.host_twin import compiler
from livefusion.testing.reel import Reel
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.standins.check import BARE, StandinFolder, performer, tracks_of

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def reel() -> Reel:
    return performer(220, 2)


@pytest.fixture(scope="module")
def standins(tmp_path_factory: pytest.TempPathFactory) -> StandinFolder:
    return StandinFolder(tmp_path_factory.mktemp("standins"))


@pytest.mark.parametrize("kind", ["mesh", "network"])
@pytest.mark.parametrize(
    ("side", "codeformer", "share"),
    [(512, False, 1.0), (256, False, 1.0), (512, True, 1.0), (512, False, 0.4)],
    ids=["gfpgan", "gpen 256", "codeformer", "blend"],
)
def test_the_new_face_is_what_the_network_makes_of_it(
    kind: str,
    side: int,
    codeformer: bool,
    share: float,
    tmp_path: Path,
    reel: Reel,
    identity: Identity,
    standins: StandinFolder,
) -> None:
    wearing = BARE.model_copy(update={"enhance_blend": share})
    plain = play(reel, identity, engine_of(kind, standins), None, wearing=wearing)
    engine = engine_of(kind, standins)
    enhancer = Enhancer(loading(engine._device, restorer(tmp_path, side, codeformer=codeformer)))
    restored = play(reel, identity, engine, enhancer, wearing=wearing)
    assert (enhancer.restored, enhancer.bad) == (len(restored), 0)
    for one, other in zip(plain, restored, strict=True):
        signed = one.after.astype(float) / 127.5 - 1
        made = (signed @ MIX.T + (0.5 if codeformer else 0) + 1) * 127.5
        wanted = one.after + (made - one.after) * share
        off = np.abs(other.after - wanted)[other.opaque].mean()
        moved = np.abs(other.after.astype(float) - one.after)[other.opaque].mean()
        assert off < 1.0
        assert moved > 3
        changed = (one.after != one.before).any(axis=2)
        assert ((other.after != one.before).any(axis=2) <= changed).mean() > 0.999


def test_a_patch_stays_as_it_was_where_no_picture_comes(
    tmp_path: Path, reel: Reel, identity: Identity, standins: StandinFolder, caplog: pytest.LogCaptureFixture
) -> None:
    frames = range(MOST_BAD + 3)
    plain = play(reel, identity, engine_of("network", standins), None, seqs=frames)
    engine = engine_of("network", standins)
    # Its first run, on smooth waves of up to 0.6, tells nothing; in a face something is darker or brighter.
    enhancer = Enhancer(loading(engine._device, restorer(tmp_path, brittle=0.61)))
    with caplog.at_level("WARNING"):
        shown = play(reel, identity, engine, enhancer, seqs=frames)
    for one, other in zip(plain, shown, strict=True):
        np.testing.assert_array_equal(one.after, other.after)
    assert (enhancer.restored, enhancer.bad) == (0, MOST_BAD)
    said = [record.message for record in caplog.records]
    assert any("no picture; the face stays as it was" in text for text in said)
    assert any("asked no more" in text for text in said)


@pytest.mark.parametrize(
    ("wrong", "text"), [("another", "does not restore faces"), ("nothing", "gives no picture here")]
)
def test_what_cannot_restore_is_refused(wrong: str, text: str, tmp_path: Path) -> None:
    if wrong == "another":
        model = inspect(yolo_face_standin(tmp_path / "x.onnx"))
    else:
        model = restorer(tmp_path, brittle=0.3)
    with pytest.raises(ModelError, match=text):
        Enhancer(loading(CpuDevice(), model)).warm_up()
    live = Enhancer(loading(CpuDevice(), model), budget_s=LONG_S)
    live.warm_up()
    assert live.wait(timeout=LONG_S)
    assert isinstance(live.failure, ModelError)
    assert not live.networks


def test_live_one_that_is_too_slow_is_not_used(
    tmp_path: Path, reel: Reel, identity: Identity, standins: StandinFolder
) -> None:
    engine = engine_of("network", standins)
    enhancer = Enhancer(loading(engine._device, restorer(tmp_path)), budget_s=0.0, clock=SystemClock())
    enhancer.warm_up()
    assert enhancer.wait(timeout=LONG_S)
    assert enhancer.failure is not None
    assert "ms for a face here" in str(enhancer.failure)
    shown = play(reel, identity, engine, enhancer)
    plain = play(reel, identity, engine_of("network", standins), None)
    assert all((one.after == other.after).all() for one, other in zip(shown, plain, strict=True))


def test_live_it_is_loaded_beside_the_picture(
    tmp_path: Path, reel: Reel, identity: Identity, standins: StandinFolder
) -> None:
    engine, go = engine_of("network", standins), threading.Event()
    load = loading(engine._device, restorer(tmp_path))

    def held() -> PatchRestorer:
        go.wait(timeout=LONG_S)
        return load()

    enhancer = Enhancer(held, budget_s=LONG_S)
    play(reel, identity, engine, enhancer)  # opens the stage, which must not wait for it
    assert (enhancer.restored, enhancer.networks) == (0, ())
    go.set()
    assert enhancer.wait(timeout=LONG_S)
    shown = play(reel, identity, engine, enhancer)
    assert enhancer.restored == len(shown)
    assert len(enhancer.networks) == 1


def test_it_is_the_first_to_be_left_out_in_a_hurry(
    tmp_path: Path, reel: Reel, identity: Identity, standins: StandinFolder
) -> None:
    engine = engine_of("network", standins)
    enhancer = Enhancer(loading(engine._device, restorer(tmp_path)))
    clock = ScriptedClock()
    ladder = DeadlineLadder((ENHANCE, *RUNGS), FRAME_NS, clock, patience=2)
    play(reel, identity, engine, enhancer, ladder=ladder, clock=clock, late_ns=2 * FRAME_NS)
    assert ladder.left_out == (ENHANCE,)
    assert enhancer.restored == 1


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("seed", range(3))
def test_work_that_runs_late_restores_the_same_face(kind: str, seed: int, tmp_path: Path, reel: Reel) -> None:
    if kind == "cuda" and compiler() is None:
        pytest.skip("no C++ compiler for the host twin")
    model, shot = restorer(tmp_path, 256), reel.at(0)
    (track,) = tracks_of(shot)
    region = Region.covering(track.box, reel.size, 8)
    pixels = np.random.default_rng(3).integers(60, 190, (region.height // 8, region.width // 8, 4), np.uint8)
    pixels = np.ascontiguousarray(pixels.repeat(8, axis=0).repeat(8, axis=1))
    made = []
    for device in (CpuDevice(), SimDevice(seed, kind=kind)):  # type: ignore[arg-type]
        one = PatchRestorer(device, model, load_session)
        one.try_out(SystemClock())
        stream = device.stream("render")
        picture = FramePool(device, reel.size).acquire(stream)
        patch = Patch(region, device.empty(pixels.shape, np.uint8))
        for plane, values in (
            (picture.luma, shot.luma),
            (picture.chroma, shot.chroma),
            (patch.pixels, pixels),
        ):
            device.copy(plane, values, stream)
        buffer = picture.after(stream.record())
        frame = Frame(0, "reel", Timestamp(0, Fraction(1, 30)), 0, reel.size, reel.color, buffer)
        assert track.landmarks is not None
        for share in (0.5, 0.7):
            one.restore(frame, patch, five_points(track.landmarks), share, stream)
        host = device.pinned(pixels.shape, np.uint8)
        device.copy(host, patch.pixels, stream)
        stream.synchronize()
        made.append(host.astype(int))
        assert one.bad == 0
        if isinstance(device, SimDevice):
            device.assert_no_races()
    np.testing.assert_array_equal(made[0][..., 3], pixels[..., 3])
    assert (np.abs(made[0] - pixels) > 3).mean() > 0.3
    assert (np.abs(made[0] - made[1]) <= 2).mean() > 0.995
