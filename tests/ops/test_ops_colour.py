"""What every body of the colour operators must hold."""

import numpy as np
import pytest
from op_case import body_of

from livefusion.devices.device import BodyKind
from livefusion.ops.reference.colour import matching
from livefusion.ops.registry import COLOUR_STATS, COLOUR_TRANSFER, LIGHT_FIELD, SCALE_ALPHA

pytestmark = pytest.mark.unit

KINDS: tuple[BodyKind, ...] = ("reference", "cpu", "cuda")
HEIGHT, WIDTH = 38, 54


def _scene(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    patch = rng.integers(60, 200, (HEIGHT, WIDTH, 4), dtype=np.uint8)
    ys, xs = np.mgrid[0:HEIGHT, 0:WIDTH]
    middle = np.hypot((xs - WIDTH / 2) / WIDTH, (ys - HEIGHT / 2) / HEIGHT)
    patch[..., 3] = np.clip((0.5 - middle) * 1000, 0, 255)
    return {
        "patch": patch,
        "luma": rng.integers(0, 256, (80, 120), dtype=np.uint8),
        "chroma": rng.integers(0, 256, (40, 60, 2), dtype=np.uint8),
    }


def _measure(kind: BodyKind, scene: dict[str, np.ndarray], momentum: float, stats: np.ndarray) -> np.ndarray:
    cells = np.full((5, 7, 7), np.nan, np.float32)
    body_of(COLOUR_STATS, kind)(**scene, x=22, y=14, momentum=momentum, stats=stats, cells=cells)
    return cells


def _colour(kind: BodyKind, scene: dict[str, np.ndarray], strength: float, radius: int = 1) -> np.ndarray:
    stats = np.full((3, 4), np.nan, np.float32)
    cells = _measure(kind, scene, 0.0, stats)
    light = np.full((5, 7, 3), np.nan, np.float32)
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=stats, radius=radius, light=light)
    patch = scene["patch"].copy()
    body_of(COLOUR_TRANSFER, kind)(patch=patch, stats=stats, light=light, strength=strength)
    return patch


@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_of_one_colour_takes_the_colour_of_the_frame(kind: BodyKind) -> None:
    scene = _scene(2)
    scene["patch"][..., :3] = (90, 100, 150)
    scene["luma"][:] = 160
    scene["chroma"][:] = (120, 140)
    patch = _colour(kind, scene, 1.0)
    visible = patch[..., 3] > 0
    assert np.abs(patch[visible][:, :3].astype(int) - (160, 120, 140)).max() <= 1
    assert (patch[~visible] == scene["patch"][~visible]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_light_from_one_side_is_taken_over(kind: BodyKind) -> None:
    scene = _scene(3)
    scene["patch"][..., :3] = 128
    scene["chroma"][:] = 128
    scene["luma"][:] = np.linspace(60, 200, 120).astype(np.uint8)
    lit, flat = _colour(kind, scene, 1.0)[..., 0].astype(int), _colour(kind, scene, 0.0)[..., 0].astype(int)
    row = HEIGHT // 2
    assert lit[row, -8] - lit[row, 8] > 15
    assert flat[row, -8] == flat[row, 8]


@pytest.mark.parametrize("kind", KINDS)
def test_too_few_samples_leave_the_statistics(kind: BodyKind) -> None:
    scene = _scene(4)
    scene["patch"][..., 3] = 0
    stats = np.arange(12, dtype=np.float32).reshape(3, 4)
    cells = _measure(kind, scene, 0.0, stats)
    assert (stats.ravel() == np.arange(12)).all()
    assert (cells == 0).all()


def test_statistics_of_zero_change_nothing() -> None:
    shift, gain = matching(np.zeros((3, 4), np.float32))
    assert shift.tolist() == [0, 0, 0]
    assert gain.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_alpha_is_scaled_and_colours_stay(kind: BodyKind) -> None:
    patch = np.arange(256, dtype=np.uint8).repeat(4).reshape(16, 16, 4)
    body_of(SCALE_ALPHA, kind)(patch=patch, factor=0.5)
    assert patch[..., 3].ravel().tolist() == [(value + 1) // 2 for value in range(256)]
    assert (patch[..., 0].ravel() == np.arange(256)).all()
