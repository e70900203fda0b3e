"""What every body of the mesh operators must hold."""

import numpy as np
import pytest
from op_case import body_of

from livefusion.devices.device import BodyKind
from livefusion.ops.registry import DRAW_MESH

pytestmark = pytest.mark.unit

KINDS: tuple[BodyKind, ...] = ("reference", "cpu", "cuda")


def _mesh(seed: int, jitter: float) -> dict[str, np.ndarray]:
    """A 6 × 6 grid of vertices over a 60 × 44 patch, shaken so that triangles overlap and turn over."""
    rng = np.random.default_rng(seed)
    ys, xs = np.mgrid[0:6, 0:6]
    grid = np.stack([xs.ravel() * 12.0 - 2, ys.ravel() * 9.0 - 3], axis=1)
    cells = [(r * 6 + c) for r in range(5) for c in range(5)]
    triangles = [t for i in cells for t in ((i, i + 1, i + 6), (i + 1, i + 7, i + 6))]
    return {
        "vertices": (grid + rng.normal(0, jitter, grid.shape)).astype(np.float32),
        "depth": rng.normal(0, 5, 36).astype(np.float32),
        "uv": rng.uniform(-2, 66, (36, 2)).astype(np.float32),
        "weight": rng.uniform(0, 1, 36).astype(np.float32),
        "triangles": np.array(triangles, np.int32),
    }


def _draw(
    kind: BodyKind, mesh: dict[str, np.ndarray], texture: np.ndarray, height: int = 44, width: int = 60
) -> np.ndarray:
    patch = np.full((height, width, 4), 99, np.uint8)
    body_of(DRAW_MESH, kind)(**mesh, texture=texture, patch=patch)
    return patch


def _ramps(side: int) -> np.ndarray:
    """An opaque texture whose first two channels tell x and y."""
    texture = np.full((side, side, 4), 255, np.uint8)
    texture[..., 0], texture[..., 1] = np.arange(side), np.arange(side)[:, None]
    return texture


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_grid_has_no_seams(kind: BodyKind) -> None:
    mesh = _mesh(0, 0.0) | {"weight": np.ones(36, np.float32)}
    assert (_draw(kind, mesh, _ramps(64))[:43, :59, 3] == 255).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_nearer_triangle_wins(kind: BodyKind) -> None:
    square = np.array([[0, 0], [40, 0], [40, 40], [0, 40]], np.float32)
    mesh = {
        "vertices": np.concatenate([square, square]),
        "depth": np.repeat(np.array([1, -1], np.float32), 4),
        "uv": np.repeat(np.array([[10, 10], [20, 30]], np.float32), 4, axis=0),
        "weight": np.ones(8, np.float32),
        "triangles": np.array([[4, 5, 6], [4, 6, 7], [0, 1, 2], [0, 2, 3]], np.int32),
    }
    patch = _draw(kind, mesh, _ramps(64))
    assert (patch[:41, :41, :2] == (20, 30)).all()
    assert (patch[:, 42:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_outside_or_has_no_area_is_not_drawn(kind: BodyKind) -> None:
    mesh = _mesh(1, 0.0)
    mesh["vertices"] = mesh["vertices"] + np.float32(500)
    assert (_draw(kind, mesh, _ramps(64)) == 0).all()
    mesh["vertices"][:] = 20
    assert (_draw(kind, mesh, _ramps(64)) == 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("uv", "weight", "pixel"),
    [
        ((1.5, 2.25), 0.5, [60, 135, 0, 100]),
        ((1.5, 2.25), 0.002, [0, 0, 0, 0]),
        ((1.5, 2.25), -3, [0, 0, 0, 0]),
        ((9, 9), 7, [120, 180, 0, 200]),
        ((-9, 1), 1, [0, 60, 0, 200]),
    ],
)
def test_texels_are_bilinear_and_alpha_carries_the_weight(
    kind: BodyKind, uv: tuple[float, float], weight: float, pixel: list[int]
) -> None:
    texture = np.zeros((4, 4, 4), np.uint8)
    texture[:, :, 0] = np.arange(4) * 40
    texture[:, :, 1] = np.arange(4)[:, None] * 60
    texture[:, :, 3] = 200
    mesh = {
        "vertices": np.array([[-5, -5], [20, -5], [-5, 20]], np.float32),
        "depth": np.zeros(3, np.float32),
        "uv": np.array([uv] * 3, np.float32),
        "weight": np.full(3, weight, np.float32),
        "triangles": np.array([[0, 1, 2]], np.int32),
    }
    patch = _draw(kind, mesh, texture, 3, 5)
    assert (patch == pixel).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 4, 4), (4, 1, 4)])
def test_a_texture_without_neighbours_is_refused(kind: BodyKind, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="neighbours"):
        _draw(kind, _mesh(0, 0.0), np.zeros(shape, np.uint8))
