"""What every body of the mesh operators must hold."""

import numpy as np
import pytest
from op_case import body_of

from livefusion.devices.device import BodyKind
from livefusion.ops.registry import RASTER_UV, SAMPLE_UV

pytestmark = pytest.mark.unit

KINDS: tuple[BodyKind, ...] = ("reference", "cpu", "cuda")


def _mesh(seed: int, jitter: float) -> dict[str, np.ndarray]:
    """A 6 × 6 grid of vertices over a 60 × 44 map, shaken so that triangles overlap and turn over."""
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


def _raster(kind: BodyKind, mesh: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    texels, cover = np.zeros((44, 60, 2), np.float32), np.full((44, 60), 7, np.float32)
    zbuffer = np.zeros((44, 60), np.float32)
    body_of(RASTER_UV, kind)(**mesh, map=texels, cover=cover, zbuffer=zbuffer)
    return texels, cover


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_grid_has_no_seams(kind: BodyKind) -> None:
    mesh = _mesh(0, 0.0) | {"weight": np.ones(36, np.float32)}
    _, cover = _raster(kind, mesh)
    assert (cover[:43, :59] == 1).all()


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
    texels, cover = _raster(kind, mesh)
    assert (texels[:41, :41] == (20, 30)).all()
    assert (cover[:, 42:] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_outside_or_has_no_area_is_not_drawn(kind: BodyKind) -> None:
    mesh = _mesh(1, 0.0)
    mesh["vertices"] = mesh["vertices"] + np.float32(500)
    assert (_raster(kind, mesh)[1] == 0).all()
    mesh["vertices"][:] = 20
    assert (_raster(kind, mesh)[1] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_sampling_is_bilinear_and_alpha_carries_the_cover(kind: BodyKind) -> None:
    texture = np.zeros((4, 4, 4), np.uint8)
    texture[:, :, 0] = np.arange(4) * 40
    texture[:, :, 1] = np.arange(4)[:, None] * 60
    texture[:, :, 3] = 200
    texels = np.array([[[1.5, 2.25], [0, 0], [9, 9]]], np.float32)
    cover = np.array([[0.5, 0, 1]], np.float32)
    patch = np.full((1, 3, 4), 99, np.uint8)
    body_of(SAMPLE_UV, kind)(map=texels, cover=cover, texture=texture, patch=patch)
    assert patch[0].tolist() == [[60, 135, 0, 100], [0, 0, 0, 0], [120, 180, 0, 200]]
