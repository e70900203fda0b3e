"""The crop that the occlusion network looks at."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.geometry import Affine
from livefusion.swap.mesh.canonical import canonical_mesh

pytestmark = pytest.mark.unit

SIDE = 128


def _face(angle: float, scale: float) -> npt.NDArray[np.float32]:
    """The canonical face turned in the picture by ``angle``, about (200, 150)."""
    vertices = canonical_mesh().vertices
    turned = Affine.similarity(scale, angle, (0.0, 0.0), (200.0, 150.0))(vertices[:, :2].astype(np.float64))
    return np.column_stack([turned, vertices[:, 2]]).astype(np.float32)


@pytest.mark.parametrize("angle", [0.0, 0.5, -1.2, math.pi, 2.5])
@pytest.mark.parametrize("scale", [3.0, 20.0])
def test_crop_is_level_and_centred_at_any_roll(angle: float, scale: float) -> None:
    face = _face(angle, scale)
    points = crop_of(face, SIDE)(face[:, :2])
    assert points[33, 1] == pytest.approx(points[263, 1], abs=1e-3)
    assert points[33, 0] < points[263, 0]
    low, high = points.min(axis=0), points.max(axis=0)
    assert (low + high) / 2 == pytest.approx([(SIDE - 1) / 2] * 2, abs=1e-3)
    assert max(high - low) == pytest.approx(SIDE / 1.2, rel=1e-4)


def test_irises_do_not_move_the_crop() -> None:
    face = _face(0.3, 10.0)
    irises = np.full((10, 3), 900, np.float32)
    assert crop_of(np.concatenate([face, irises]), SIDE) == crop_of(face, SIDE)


def test_a_face_without_size_has_a_crop() -> None:
    assert np.isfinite(crop_of(np.zeros((468, 3), np.float32), SIDE).matrix).all()
