import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livefusion.media.sources.performer_mesh import (
    FACE_POINTS,
    LOWER_LIDS,
    LOWER_LIP,
    OVAL,
    UPPER_LIDS,
    UPPER_LIP,
    HeadMesh,
)
from livefusion.media.sources.performer_motion import HeadPose
from livefusion.media.sources.performer_photo import load_performer_photos

pytestmark = pytest.mark.unit

PHOTO = load_performer_photos()[0]
REST = PHOTO.landmarks.astype(np.float64)
HEAD = HeadMesh(REST, PHOTO.triangles, (510.0, 511.0))

POSES = st.builds(
    HeadPose,
    yaw=st.floats(-18, 18),
    pitch=st.floats(-9, 9),
    roll=st.floats(-8, 8),
    shift=st.tuples(st.floats(-0.09, 0.09), st.floats(-0.05, 0.05)),
    scale=st.floats(0.92, 1.08),
    blink=st.floats(0, 1),
    mouth=st.floats(0, 1),
)


def test_at_rest_the_head_is_the_photo() -> None:
    head = HEAD.posed(HeadPose())
    np.testing.assert_allclose(head.landmarks, REST, atol=1e-3)
    visible = np.setdiff1d(np.unique(HEAD.triangles), _throat())
    np.testing.assert_allclose(head.vertices[visible], HEAD.uv[visible], atol=1e-3)


def _throat() -> np.ndarray:
    """Vertices whose texels lie in the two dark rows."""
    return np.flatnonzero(HEAD.uv[:, 1] >= 510)


@given(POSES)
@settings(max_examples=40)
def test_sheet_and_face_agree_and_the_outline_is_still(pose: HeadPose) -> None:
    head = HEAD.posed(pose)
    np.testing.assert_allclose(head.vertices[:FACE_POINTS], head.landmarks[:FACE_POINTS, :2], atol=1e-3)
    np.testing.assert_allclose(head.vertices[-len(OVAL) :], HEAD.still_outline, atol=1e-3)


@given(POSES)
@settings(max_examples=40)
def test_a_pose_without_expression_is_a_similarity_in_space(pose: HeadPose) -> None:
    stiff = HeadPose(pose.yaw, pose.pitch, pose.roll, pose.shift, pose.scale)
    moved = HEAD.posed(stiff).landmarks.astype(np.float64)
    pairs = np.random.default_rng(0).integers(0, len(REST), (200, 2))
    before = np.linalg.norm(REST[pairs[:, 0]] - REST[pairs[:, 1]], axis=1)
    after = np.linalg.norm(moved[pairs[:, 0]] - moved[pairs[:, 1]], axis=1)
    np.testing.assert_allclose(after, pose.scale * before, atol=2e-3)


@pytest.mark.parametrize(
    ("pose", "point", "axis", "sign"),
    [
        (HeadPose(yaw=15), 1, 0, 1),
        (HeadPose(pitch=8), 1, 1, 1),
        (HeadPose(roll=8), 10, 0, 1),
        (HeadPose(shift=(0.05, 0)), 1, 0, 1),
        (HeadPose(mouth=1), 152, 1, 1),
    ],
)
def test_directions_are_as_documented(pose: HeadPose, point: int, axis: int, sign: int) -> None:
    moved = HEAD.posed(pose).landmarks[point, axis] - REST[point, axis]
    assert sign * moved > 0.01 * HEAD.height


def test_lids_close_and_lips_open() -> None:
    def gap(pose: HeadPose, upper: tuple[int, ...], lower: tuple[int, ...]) -> float:
        points = HEAD.posed(pose).landmarks
        return float(np.mean(points[list(lower), 1] - points[list(upper), 1]))

    for upper, lower in zip(UPPER_LIDS, LOWER_LIDS, strict=True):
        assert 0 <= gap(HeadPose(blink=1), upper, lower) < 0.1 * gap(HeadPose(), upper, lower)
    assert gap(HeadPose(mouth=1), UPPER_LIP, LOWER_LIP) > gap(HeadPose(), UPPER_LIP, LOWER_LIP) + 3
    np.testing.assert_allclose(HEAD.posed(HeadPose(mouth=1, blink=1)).landmarks[468:], REST[468:], atol=1e-3)
