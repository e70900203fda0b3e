"""How much of the performer's face a new one leaves bare."""

import numpy as np
import pytest

from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.mesh.coverage import bared, skin_coverage
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.shape import SourceShape
from livefusion.swap.mesh.visible import visible_triangles

pytestmark = pytest.mark.unit

ALPHA = np.round(face_mask() * 255).astype(np.uint8)
SIDE = 300


def drawn(mouth: float, eyes: float) -> float:
    """Sum of the alpha of a whole face that looks at the camera."""
    points = canonical_mesh().vertices
    mesh, weight = SourceShape(points).onto(points, 1.0, mouth, eyes)
    flat = mesh[:, :2] - mesh[:, :2].min(axis=0)
    patch = np.zeros((SIDE, SIDE, 4), np.uint8)
    DRAW_MESH.body("cpu")(
        vertices=np.ascontiguousarray(flat * (SIDE / flat.max()), np.float32),
        depth=np.ascontiguousarray(mesh[:, 2]),
        uv=canonical_mesh().texels(),
        weight=weight,
        triangles=visible_triangles(ALPHA),
        texture=np.dstack([np.full((1024, 1024, 3), 128, np.uint8), ALPHA]),
        patch=patch,
    )
    return float(patch[..., 3].sum(dtype=np.int64))


@pytest.mark.parametrize(("mouth", "eyes"), [(0, 1), (1, 0), (0, 0), (0.5, 0.25)])
def test_lips_and_lids_count_as_much_as_they_are_of_what_is_drawn(mouth: float, eyes: float) -> None:
    bare = 1 - drawn(mouth, eyes) / drawn(1, 1)
    assert bared(mouth, eyes) == pytest.approx(bare, abs=0.015)
    assert bared(mouth, eyes) >= bare - 0.001


def test_a_whole_face_bares_nothing() -> None:
    assert bared(1, 1) == 0
    assert skin_coverage(ALPHA) == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_holes_count_by_what_they_would_have_hidden(share: float) -> None:
    assert skin_coverage((ALPHA * share).astype(np.uint8)) == pytest.approx(share, abs=0.01)
    outside = np.where(ALPHA == 0, 255, 0).astype(np.uint8)
    assert skin_coverage(outside) == pytest.approx(0, abs=0.001)
