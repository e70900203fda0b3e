"""What shows of a turned head."""

import numpy as np
import pytest

from livefusion.swap.mesh.canonical import CHEEK_SIDES, NOSE_TIP
from livefusion.swap.mesh.facing import facing_weight, head_normals

pytestmark = pytest.mark.unit

NOSE_WINGS, MOUTH_CORNERS, BROW_TAILS = (64, 294), (61, 291), (70, 300)


def weights(yaw: float, pitch: float = 0.0) -> np.ndarray:
    """Of a head turned by degrees to its left, and up."""
    y, p = np.radians((yaw, pitch))
    viewer = np.array([np.sin(y) * np.cos(p), np.sin(p), np.cos(y) * np.cos(p)])
    return facing_weight(head_normals(), viewer)


@pytest.mark.parametrize(
    ("yaw", "pitch"), [(0, 0), (30, 0), (-30, 10), (45, -10), (-45, 0), (0, 40), (0, -35)]
)
def test_the_nose_never_fades_while_it_is_seen_from_before(yaw: float, pitch: float) -> None:
    shown = weights(yaw, pitch)
    assert shown[[NOSE_TIP, *NOSE_WINGS]].min() > 0.95


@pytest.mark.parametrize("yaw", [-60, -40, 40, 60])
def test_the_far_side_fades_and_the_near_side_stays(yaw: float) -> None:
    far, near = (0, 1) if yaw < 0 else (1, 0)
    shown = weights(yaw)
    assert shown[CHEEK_SIDES[far]] == shown[BROW_TAILS[far]] == 0
    assert shown[CHEEK_SIDES[near]] == shown[BROW_TAILS[near]] == shown[MOUTH_CORNERS[near]] == 1


def test_a_face_fades_evenly_as_it_turns() -> None:
    shown = np.array([weights(yaw) for yaw in range(-90, 91)])
    assert np.abs(np.diff(shown, axis=0)).max() < 0.12
    assert ((shown >= 0) & (shown <= 1)).all()


def test_normals_point_outwards() -> None:
    normals = head_normals()
    assert normals.shape == (468, 3)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
    assert normals[NOSE_TIP, 2] < -0.9
    right, left = normals[list(CHEEK_SIDES), 0]
    assert right < -0.9 < 0.9 < left
