"""What becomes of a frame: swapped, covered, withheld, held or, when asked for, raw."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import SIZE, FrameMaker, PaintingEngine, track

from livefusion.core.events import Discontinuity
from livefusion.core.face import AnalysedFrame, Identity, TrackState
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.geometry import Box
from livefusion.core.settings import MissingFacePolicy, SafetySettings, SwapSettings
from livefusion.core.timing import SystemClock
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.provenance.badge import badge_patch, slate
from livefusion.runtime.stage import StageContext

pytestmark = pytest.mark.unit

FACE = Box(60, 70, 80, 100)
OTHER = Box(200, 100, 60, 70)
BLUR, SAFE, HOLD, PASS = MissingFacePolicy


class Rig:
    """A render stage at work, and the plan it uses."""

    def __init__(self, make_frame: FrameMaker, identity: Identity, **safety: object) -> None:
        self.make_frame = make_frame
        self.engine = PaintingEngine()
        self.plan = RenderPlan(identity, SwapSettings(relight=0), SafetySettings(**safety))
        device = make_frame.device
        self.stage = RenderStage(device, self.engine, lambda: self.plan, SlateShelf(device))
        self.stage.open(StageContext("render", SystemClock()))

    def __call__(self, *tracks: object, trusted: bool = True) -> RenderedFrame:
        rendered = self.stage.process(AnalysedFrame(self.make_frame(), tuple(tracks), trusted))
        assert isinstance(rendered, RenderedFrame)
        return rendered

    def kept(self, rendered: RenderedFrame, box: Box) -> float:
        """Share of luma samples of a box that are still those of the camera."""
        rows, columns = slice(int(box.y), int(box.bottom)), slice(int(box.x), int(box.right))
        now = rendered.frame.buffer.luma[rows, columns]
        return float(np.mean(now == self.make_frame.luma[rows, columns]))


def is_slate(rendered: RenderedFrame) -> bool:
    return np.array_equal(rendered.frame.buffer.luma, slate(SIZE, rendered.frame.color)[0])


def test_a_seen_face_is_swapped_and_nothing_else_is_touched(
    make_frame: FrameMaker, identity: Identity
) -> None:
    rig = Rig(make_frame, identity)
    rendered = rig(track(1, FACE))
    assert rendered.outcome is Outcome.SWAPPED
    changed = rendered.frame.buffer.luma != make_frame.luma
    badge = badge_patch(SIZE, rendered.frame.color).region
    assert changed[badge.luma].any(), "the badge is missing"
    changed[badge.luma] = False
    assert changed[80:160, 70:130].mean() > 0.9
    changed[70:170, 60:140] = False
    assert not changed.any()


def test_without_faces_only_the_badge_is_drawn(make_frame: FrameMaker, identity: Identity) -> None:
    rendered = Rig(make_frame, identity, badge=False)()
    assert rendered.outcome is Outcome.CLEAR
    assert np.array_equal(rendered.frame.buffer.luma, make_frame.luma)


@pytest.mark.parametrize("state", [TrackState.DOUBTFUL, TrackState.PREDICTED])
@pytest.mark.parametrize(
    ("policy", "outcome", "most_kept"),
    [
        (BLUR, Outcome.SAFE, 0.05),
        (SAFE, Outcome.SAFE, 0.05),
        (HOLD, Outcome.SAFE, 0.05),
        (PASS, Outcome.RAW, 1),
    ],
)
def test_a_face_that_cannot_be_swapped_follows_the_policy(
    make_frame: FrameMaker,
    identity: Identity,
    state: TrackState,
    policy: MissingFacePolicy,
    outcome: Outcome,
    most_kept: float,
) -> None:
    rig = Rig(make_frame, identity, on_missing_face=policy, badge=False)
    rendered = rig(track(1, FACE, state))
    assert rendered.outcome is outcome
    assert rig.kept(rendered, FACE) <= most_kept
    assert policy is not PASS or rig.kept(rendered, FACE) == 1


def test_blur_leaves_the_rest_of_the_picture_and_swaps_the_other_face(
    make_frame: FrameMaker, identity: Identity
) -> None:
    rig = Rig(make_frame, identity, badge=False)
    rendered = rig(track(1, FACE, TrackState.PREDICTED), track(2, OTHER))
    assert rendered.outcome is Outcome.SAFE
    assert rig.kept(rendered, FACE) < 0.05
    assert rig.kept(rendered, OTHER) < 0.05
    assert rig.kept(rendered, Box(0, 215, 320, 25)) == 1


@pytest.mark.parametrize("policy", [BLUR, SAFE, HOLD])
def test_a_picture_that_nobody_vouches_for_is_covered_wholly(
    make_frame: FrameMaker, identity: Identity, policy: MissingFacePolicy
) -> None:
    rig = Rig(make_frame, identity, on_missing_face=policy)
    rendered = rig(trusted=False)
    assert rendered.outcome is Outcome.SAFE
    assert rig.kept(rendered, Box(0, 0, 320, 240)) < 0.05


def test_hold_repeats_the_last_safe_picture_and_then_the_slate(
    make_frame: FrameMaker, identity: Identity
) -> None:
    rig = Rig(make_frame, identity, on_missing_face=HOLD, hold_frames=2)
    good = rig(track(1, FACE))
    held = [rig(track(1, FACE, TrackState.PREDICTED)) for _ in range(3)]
    assert [one.frame.buffer is good.frame.buffer for one in held] == [True, True, False]
    assert [one.seq for one in held] == [1, 2, 3]
    assert is_slate(held[2])


def test_nothing_is_held_across_a_jump(make_frame: FrameMaker, identity: Identity) -> None:
    rig = Rig(make_frame, identity, on_missing_face=HOLD)
    rig(track(1, FACE))
    rig.stage.handle(Discontinuity("test"))
    assert is_slate(rig(track(1, FACE, TrackState.PREDICTED)))


def test_a_raw_picture_is_never_held(make_frame: FrameMaker, identity: Identity) -> None:
    rig = Rig(make_frame, identity, on_missing_face=PASS)
    rig(track(1, FACE, TrackState.PREDICTED))
    rig.plan = RenderPlan(identity, rig.plan.swap, SafetySettings(on_missing_face=HOLD))
    assert is_slate(rig(track(1, FACE, TrackState.PREDICTED)))


@pytest.mark.parametrize("policy", [BLUR, SAFE, HOLD])
def test_the_fallback_covers_a_picture_that_was_swapped_half_way(
    make_frame: FrameMaker, identity: Identity, policy: MissingFacePolicy
) -> None:
    rig = Rig(make_frame, identity, on_missing_face=policy)
    rig.engine.fails_on = frozenset({2})
    item = AnalysedFrame(make_frame(), (track(1, FACE), track(2, OTHER)))
    with pytest.raises(RuntimeError) as caught:
        rig.stage.process(item)
    rendered = rig.stage.fallback(item, caught.value)
    assert rendered.outcome is Outcome.SAFE
    assert rig.kept(rendered, OTHER) < 0.05


def test_a_plan_is_switched_between_two_frames(make_frame: FrameMaker, identity: Identity) -> None:
    rig = Rig(make_frame, identity, badge=False)
    rig(track(1, FACE))
    rig.plan = RenderPlan(identity, rig.plan.swap.model_copy(update={"opacity": 0.0}), rig.plan.safety)
    rendered = rig(track(1, FACE))
    assert rig.kept(rendered, FACE) == 1
    assert rendered.outcome is Outcome.RAW


@pytest.mark.parametrize(("coverage", "outcome"), [(0.1, Outcome.RAW), (0.9, Outcome.SWAPPED)])
def test_paint_that_lets_the_face_through_hides_nobody(
    make_frame: FrameMaker, identity: Identity, coverage: float, outcome: Outcome
) -> None:
    rig = Rig(make_frame, identity)
    rig.plan = replace(rig.plan, identity=replace(identity, painted=True, coverage=coverage))
    assert rig(track(1, FACE)).outcome is outcome
