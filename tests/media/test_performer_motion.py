import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.media.sources.performer_motion import PITCH, ROLL, SCALE, SHIFT, YAW, HeadPose, Motion

pytestmark = pytest.mark.unit

SECONDS = st.floats(0, 3600)
SEEDS = st.integers(0, 2**32 - 1)


def numbers(pose: HeadPose) -> list[float]:
    return [pose.yaw, pose.pitch, pose.roll, *pose.shift, pose.scale, pose.blink, pose.mouth]


@given(SEEDS, SECONDS)
def test_motion_stays_within_its_limits(seed: int, seconds: float) -> None:
    pose = Motion(seed).at(seconds)
    assert abs(pose.yaw) <= YAW
    assert abs(pose.pitch) <= PITCH
    assert abs(pose.roll) <= ROLL
    assert abs(pose.shift[0]) <= SHIFT[0]
    assert abs(pose.shift[1]) <= SHIFT[1]
    assert abs(pose.scale - 1) <= SCALE
    assert 0 <= pose.blink <= 1
    assert 0 <= pose.mouth <= 1


@given(SEEDS, SECONDS)
def test_motion_is_smooth(seed: int, seconds: float) -> None:
    motion = Motion(seed, expressive=False)
    before, after = motion.at(seconds), motion.at(seconds + 1 / 30)
    step = np.abs(np.subtract(numbers(before), numbers(after)))
    # Less than two degrees, 1 % of the face's height or 1 % of its size from one frame to the next.
    assert (step <= [2, 1, 1, 0.01, 0.01, 0.01, 0, 0]).all()


@given(SEEDS, st.floats(0, 20), st.sampled_from([0.5, 3.0, 10.0]))
def test_a_loop_has_no_seam(seed: int, seconds: float, loop: float) -> None:
    motion = Motion(seed, loop=loop)
    assert numbers(motion.at(seconds)) == pytest.approx(numbers(motion.at(seconds + loop)), abs=1e-6)


def test_the_performer_uses_the_whole_range_blinks_and_speaks() -> None:
    poses = [Motion(1).at(frame / 30) for frame in range(1800)]
    assert max(pose.yaw for pose in poses) > 0.7 * YAW
    assert min(pose.yaw for pose in poses) < -0.7 * YAW
    assert max(pose.blink for pose in poses) > 0.9
    assert max(pose.mouth for pose in poses) > 0.8
    assert min(pose.mouth for pose in poses) == 0


def test_another_seed_moves_otherwise_and_a_calm_face_keeps_its_expression() -> None:
    assert numbers(Motion(1).at(2.0)) == numbers(Motion(1).at(2.0))
    assert numbers(Motion(1).at(2.0)) != numbers(Motion(2).at(2.0))
    assert all(
        Motion(1, expressive=False).at(t).blink == Motion(1, expressive=False).at(t).mouth == 0
        for t in range(9)
    )


def test_the_head_turns_and_nods_as_far_as_asked() -> None:
    poses = [(Motion(1).at(t / 7), Motion(1, turn=60).at(t / 7)) for t in range(300)]
    assert max(abs(far.yaw) for _, far in poses) > 45
    assert all(far.yaw == pytest.approx(near.yaw * 60 / 18) for near, far in poses)
    assert all(far.pitch == pytest.approx(near.pitch * 60 / 18) for near, far in poses)
