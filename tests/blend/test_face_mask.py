"""A user's network keeps more in front of a face than the built-in one, and nothing less."""

from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from livefusion.blend.face_mask import FaceMasks, mask_contract
from livefusion.blend.occlusion import Occlusion
from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.errors import ModelError
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.inference.catalog import inspect
from livefusion.inference.session import Session
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.render import OCCLUDER, RUNGS, RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.face_standins import mask_standin, yolo_face_standin
from livefusion.testing.host_twin import compiler
from livefusion.testing.occluder import GREEN, GreenScreen
from livefusion.testing.reel import Reel, draw_reel
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

RED = (80, 90, 240)
"""Y, Cb, Cr of what only the user's network knows."""
FRAME_NS = 33_333_333
WORN = SwapSettings(match_colour=False, relight=0, grain=0)


@pytest.fixture(scope="module")
def reel() -> Reel:
    return draw_reel(PerformerOptions.parse("performer:?face=220&seed=3&turn=8"), 1)


@pytest.fixture(scope="module")
def noor() -> Identity:
    return IdentityLibrary().load("noor")


class Rig:
    """A performer with a red bar over one cheek and a green one over the other, and a render stage."""

    def __init__(self, reel: Reel, identity: Identity, model: Path | None) -> None:
        self.seq = 0
        self.reel, self.device, self.clock = reel, CpuDevice(), ScriptedClock()
        own = None
        if model is not None:
            file = inspect(model)
            own = FaceMasks(self.device, mask_contract(file), partial(Session, file.entry))
        plan = RenderPlan(identity, WORN, SafetySettings(badge=False))
        self.ladder = DeadlineLadder((OCCLUDER, *RUNGS), FRAME_NS, self.clock, patience=2)
        self.stage = RenderStage(
            self.device,
            MeshEngine(self.device),
            lambda: plan,
            SlateShelf(self.device),
            occlusion=Occlusion(self.device, GreenScreen, own=own),
            ladder=self.ladder,
        )
        self.stage.open(StageContext("render", self.clock))
        truth = reel.at(0).truths[0]
        self.track = FaceTrack(1, TrackState.SEEN, truth.box, truth.landmarks, age=9, quality=1.0)
        x, y = (2 * round(part / 2) for part in truth.box.centre)
        self.red = slice(y, y + 40), slice(x - 60, x - 20)
        self.green = slice(y, y + 40), slice(x + 20, x + 60)

    def render(self, late_ns: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """(h, w) luma before and after."""
        shot, stream = self.reel.at(0), self.device.stream("source")
        buffer = FramePool(self.device, self.reel.size).acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        for (rows, columns), (y, *uv) in ((self.red, RED), (self.green, GREEN)):
            buffer.luma[rows, columns] = y
            buffer.chroma[rows.start // 2 : rows.stop // 2, columns.start // 2 : columns.stop // 2] = uv
        before = buffer.luma.copy()
        self.seq += 1
        captured = self.clock.now_ns() - late_ns
        frame = Frame(
            0, "reel", Timestamp(self.seq, Fraction(1, 30)), captured, self.reel.size, self.reel.color, buffer
        )
        self.stage.process(AnalysedFrame(frame, (self.track,)))
        self.clock.advance(FRAME_NS)
        return before, buffer.luma.copy()


def kept(bar: tuple[slice, slice], before: np.ndarray, after: np.ndarray) -> float:
    """Share of the inside of a bar that is still the camera's."""
    rows, columns = (slice(one.start + 8, one.stop - 8) for one in bar)
    return float((before[rows, columns] == after[rows, columns]).mean())


@pytest.mark.parametrize("family", ["xseg", "occluder", "bisenet"])
def test_what_either_network_sees_stays_in_front(
    family: str, tmp_path: Path, reel: Reel, noor: Identity
) -> None:
    rig = Rig(reel, noor, mask_standin(tmp_path / "any.onnx", family))
    before, after = rig.render()
    assert kept(rig.red, before, after) == 1.0
    assert kept(rig.green, before, after) > 0.9
    alone = Rig(reel, noor, None)
    before, plain = alone.render()
    assert kept(alone.red, before, plain) < 0.1
    assert kept(alone.green, before, plain) > 0.9
    # Away from the bar nothing is other than with the built-in network alone.
    elsewhere = np.ones(before.shape, bool)
    rows, columns = rig.red
    elsewhere[rows.start - 16 : rows.stop + 16, columns.start - 16 : columns.stop + 16] = False
    np.testing.assert_array_equal(after[elsewhere], plain[elsewhere])


@pytest.mark.parametrize("family", ["xseg", "bisenet"])
def test_what_is_no_number_keeps_nothing_in_front(
    family: str, tmp_path: Path, reel: Reel, noor: Identity
) -> None:
    rig = Rig(reel, noor, mask_standin(tmp_path / "any.onnx", family, unknown=True))
    _, after = rig.render()
    _, plain = Rig(reel, noor, None).render()
    np.testing.assert_array_equal(after, plain)


def test_it_is_left_out_before_the_built_in_one(tmp_path: Path, reel: Reel, noor: Identity) -> None:
    rig = Rig(reel, noor, mask_standin(tmp_path / "any.onnx", "xseg"))
    for _ in range(2):
        before, after = rig.render(late_ns=2 * FRAME_NS)
    for _ in range(8):  # what was seen is forgotten over some frames
        before, after = rig.render()
    assert rig.ladder.left_out == (OCCLUDER,)
    assert kept(rig.red, before, after) < 0.1
    assert kept(rig.green, before, after) > 0.9


def test_another_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not tell what is in front"):
        mask_contract(inspect(yolo_face_standin(tmp_path / "x.onnx")))


@pytest.mark.parametrize("family", ["xseg", "bisenet"])
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_work_that_runs_late_sees_the_same(kind: str, family: str, tmp_path: Path, reel: Reel) -> None:
    if kind == "cuda" and compiler() is None:
        pytest.skip("no C++ compiler for the host twin")
    file, shot = inspect(mask_standin(tmp_path / "any.onnx", family)), reel.at(0)
    landmarks, size = shot.truths[0].landmarks, 128
    to_matte = crop_of(landmarks, size)
    found = []
    for device in (CpuDevice(), SimDevice(7, kind=kind)):  # type: ignore[arg-type]
        masks = FaceMasks(device, mask_contract(file), partial(Session, file.entry, device=device), 2)
        stream = device.stream("render")
        masks.warm_up(stream)
        picture = FramePool(device, reel.size).acquire(stream)
        luma, chroma = shot.luma.copy(), shot.chroma.copy()
        x, y = (2 * round(part / 2) for part in shot.truths[0].box.centre)
        luma[y : y + 40, x : x + 40] = RED[0]
        chroma[y // 2 : y // 2 + 20, x // 2 : x // 2 + 20] = RED[1:]
        device.copy(picture.luma, luma, stream)
        device.copy(picture.chroma, chroma, stream)
        frame = Frame(
            0, "reel", Timestamp(0, Fraction(1, 30)), 0, reel.size, reel.color, picture.after(stream.record())
        )
        matte = device.empty((size, size), np.float32)
        device.copy(matte, np.zeros((size, size), np.float32), stream)
        masks.look(frame, [landmarks + 20, landmarks], stream)
        masks.raise_matte(1, matte, to_matte, stream)
        host = device.pinned((size, size), np.float32)
        device.copy(host, matte, stream)
        stream.synchronize()
        found.append(host.copy())
        if isinstance(device, SimDevice):
            device.assert_no_races()
    middle = to_matte(np.array([[x + 20.0, y + 20.0]]))[0].round().astype(int)
    assert found[0][middle[1], middle[0]] == 1.0
    assert 0.005 < (found[0] > 0.5).mean() < 0.2
    assert (np.abs(found[0] - found[1]) < 0.02).mean() > 0.995
