"""A frame whose faces have something in front: what is kept, what is drawn, what goes first in a hurry."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import SIZE, FrameMaker, PaintingEngine, track

from livefusion.blend.occlusion import Occlusion
from livefusion.core.events import Discontinuity
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.geometry import Box
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.pipeline.render import LEAST_OPACITY, RUNGS, RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.coverage import bared
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.occluder import GREEN, GreenScreen

pytestmark = pytest.mark.unit

FACE, LOST = Box(60, 70, 80, 100), Box(60, 100, 80, 30)
BAR = (slice(110, 130), slice(60, 140))
BUDGET_NS = 33_000_000


class Rig:
    """A render stage that looks for green bars, its clock and its plan."""

    def __init__(self, make_frame: FrameMaker, identity: Identity, **swap: Any) -> None:
        self.make_frame = make_frame
        make_frame.picture[BAR] = GREEN[0]
        chroma = make_frame.picture[SIZE.height :].reshape(SIZE.height // 2, SIZE.width // 2, 2)
        chroma[...] = (110, 150)
        chroma[55:65, 30:70] = GREEN[1:]
        self.clock = ScriptedClock()
        self.network = GreenScreen()
        self.loads = 0
        self.ladder = DeadlineLadder(RUNGS, BUDGET_NS, self.clock)
        self.plan = RenderPlan(
            identity, SwapSettings(relight=0, grain=0, **swap), SafetySettings(badge=False)
        )
        device = make_frame.device
        self.stage = RenderStage(
            device,
            PaintingEngine(),
            lambda: self.plan,
            SlateShelf(device),
            occlusion=Occlusion(device, self._load),
            ladder=self.ladder,
        )
        self.stage.open(StageContext("render", self.clock))

    def __call__(self, *tracks: FaceTrack, late_ns: int = 0) -> RenderedFrame:
        self.clock.advance(BUDGET_NS)
        made = self.make_frame()
        captured_ns = self.clock.now_ns() - late_ns
        ts = Timestamp(captured_ns // 1000, Fraction(1, 1_000_000))
        frame = type(made)(made.seq, made.source_id, ts, captured_ns, made.size, made.color, made.buffer)
        rendered = self.stage.process(AnalysedFrame(frame, tracks))
        assert isinstance(rendered, RenderedFrame)
        return rendered

    def kept(self, rendered: RenderedFrame) -> float:
        """Share of the bar that is still the camera's."""
        inner = rendered.frame.buffer.luma[114:126, 64:136]
        return float(np.mean(inner == GREEN[0]))

    def _load(self) -> GreenScreen:
        self.loads += 1
        return self.network


def face(number: int = 1, box: Box = FACE) -> FaceTrack:
    points = np.zeros((478, 3), np.float32)
    grid = np.linspace(0, 1, 478)
    points[:, 0], points[:, 1] = box.x + box.width * grid, box.y + box.height * np.abs(np.sin(grid * 40))
    points[33, :2], points[263, :2] = (80, 100), (120, 100)
    return track(number, box, landmarks=points)


@pytest.fixture
def rig(make_frame: FrameMaker, identity: Identity) -> Rig:
    return Rig(make_frame, identity)


def test_what_is_before_the_face_stays_and_the_rest_is_swapped(rig: Rig) -> None:
    rendered = rig(face())
    assert rendered.outcome is Outcome.SWAPPED
    assert rig.kept(rendered) == 1
    luma = rendered.frame.buffer.luma
    assert (luma[75:105, 65:135] != rig.make_frame.luma[75:105, 65:135]).mean() > 0.9


def test_it_is_seen_before_a_lost_face_is_covered(rig: Rig) -> None:
    rendered = rig(track(2, LOST, TrackState.PREDICTED), face())
    assert rendered.outcome is Outcome.SAFE
    assert rig.network.runs == 2, "it runs once to warm up"
    below = rendered.frame.buffer.luma[114:126, 64:136].astype(int)
    assert np.abs(below - 90).min() > 20, "the new face was drawn over what is before the old one"


@pytest.mark.parametrize(
    ("changes", "loads", "kept"), [({}, 1, 1.0), ({"occlusion": False}, 0, 0.0), ({"opacity": 0.55}, 1, 0.0)]
)
def test_settings_decide(
    make_frame: FrameMaker, identity: Identity, changes: dict[str, Any], loads: int, kept: float
) -> None:
    rig = Rig(make_frame, identity, **changes)
    assert rig.loads == loads
    assert rig.kept(rig(face())) == pytest.approx(kept, abs=0.1)


@pytest.mark.parametrize("opacity", [0.0, 0.3, 0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("coverage", [0.0, 0.4, 0.6, 0.9, 1.0])
@pytest.mark.parametrize(("mouth", "eyes"), [(1, 1), (0, 1), (1, 0), (0, 0), (0.5, 0.5)])
def test_what_is_drawn_hides_enough_whatever_the_network_says(
    identity: Identity, opacity: float, coverage: float, mouth: float, eyes: float
) -> None:
    swap = SwapSettings(opacity=opacity, mouth=mouth, eyes=eyes)
    plan = RenderPlan(replace(identity, coverage=coverage), swap, SafetySettings())
    hides = opacity * max(coverage - bared(mouth, eyes), 0)
    assert plan.hiding == pytest.approx(hides)
    assert 0 <= plan.most_kept <= 1
    assert hides * (1 - plan.most_kept) >= min(hides, LEAST_OPACITY) - 1e-9


@pytest.mark.parametrize(
    ("swap", "outcome"),
    [
        ({"opacity": 0.55}, Outcome.SWAPPED),
        ({"opacity": 0.55, "mouth": 0.0, "eyes": 0.0}, Outcome.RAW),
        ({"mouth": 0.0, "eyes": 0.0}, Outcome.SWAPPED),
    ],
)
def test_lips_and_lids_that_are_left_bare_count(
    make_frame: FrameMaker, identity: Identity, swap: dict[str, float], outcome: Outcome
) -> None:
    assert Rig(make_frame, identity, **swap)(face()).outcome is outcome


def test_a_face_that_seems_to_be_all_covered_is_drawn_over(rig: Rig) -> None:
    rig.make_frame.picture[: SIZE.height] = GREEN[0]
    rig.make_frame.picture[SIZE.height :].reshape(-1, 2)[...] = GREEN[1:]
    rendered = rig(face())
    assert rendered.outcome is Outcome.SWAPPED
    luma = rendered.frame.buffer.luma
    assert np.ptp(luma[80:160, 70:130]) == 0
    assert rig.ladder.level == 0


def test_late_frames_go_without_it_and_are_counted(rig: Rig) -> None:
    kept = [rig.kept(rig(face(), late_ns=BUDGET_NS + 1)) for _ in range(5)]
    assert kept[:2] == [1, 1]
    assert max(kept[2:]) < 0.1
    assert rig.ladder.left_out == ("occlusion",)
    assert rig.ladder.frames == {"occlusion": 3, "expression": 0}


def test_it_comes_back_when_frames_come_in_time(rig: Rig) -> None:
    for _ in range(3):
        rig(face(), late_ns=BUDGET_NS + 1)
    kept = [rig.kept(rig(face())) for _ in range(100)]
    assert max(kept[:80]) < 0.1
    assert kept[-1] == 1
    assert rig.ladder.level == 0


def test_safety_work_is_done_however_late_a_frame_is(rig: Rig) -> None:
    for _ in range(5):
        rendered = rig(track(1, FACE, TrackState.DOUBTFUL), late_ns=100 * BUDGET_NS)
        assert rendered.outcome is Outcome.SAFE
        changed = rendered.frame.buffer.luma[75:165, 65:135] != rig.make_frame.luma[75:165, 65:135]
        assert changed.mean() > 0.9


def test_nothing_is_remembered_across_a_jump(rig: Rig) -> None:
    for _ in range(3):
        rig(face())
    rig.make_frame.picture[BAR] = 120
    rig.make_frame.picture[SIZE.height :].reshape(SIZE.height // 2, SIZE.width // 2, 2)[...] = (110, 150)
    rig.stage.handle(Discontinuity("test"))
    luma = rig(face()).frame.buffer.luma
    assert (luma[115:125, 70:130] != 120).mean() > 0.9
