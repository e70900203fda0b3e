"""What every body of the colour operators must hold."""

import numpy as np
import pytest
from op_case import body_of

from livefusion.devices.device import BodyKind
from livefusion.ops.reference.colour import matching
from livefusion.ops.registry import BLEND_MATCHED, BLEND_YUVA, COLOUR_STATS, LIGHT_FIELD

pytestmark = pytest.mark.unit

KINDS: tuple[BodyKind, ...] = ("reference", "cpu", "cuda")
HEIGHT, WIDTH = 38, 54
CLEAN = {"detail": np.zeros((3, 6), np.float32), "grain": 1.0, "seed": 7}


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


def _colour(
    kind: BodyKind, scene: dict[str, np.ndarray], strength: float, opacity: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The window of the picture that the patch was blended into."""
    stats = np.full((3, 4), np.nan, np.float32)
    cells = _measure(kind, scene, 0.0, stats)
    light = np.full((5, 7, 3), np.nan, np.float32)
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=stats, radius=1, light=light)
    planes = {name: scene[name].copy() for name in ("luma", "chroma")}
    body_of(BLEND_MATCHED, kind)(
        **planes,
        patch=scene["patch"],
        stats=stats,
        light=light,
        **CLEAN,
        strength=strength,
        opacity=opacity,
        x=22,
        y=14,
    )
    chroma = planes["chroma"][7 : 7 + HEIGHT // 2, 11 : 11 + WIDTH // 2]
    return planes["luma"][14 : 14 + HEIGHT, 22 : 22 + WIDTH], chroma


@pytest.mark.parametrize("kind", KINDS)
def test_a_patch_of_one_colour_takes_the_colour_of_the_frame(kind: BodyKind) -> None:
    scene = _scene(2)
    scene["patch"][..., :3] = (90, 100, 150)
    scene["luma"][:] = 160
    scene["chroma"][:] = (120, 140)
    luma, chroma = _colour(kind, scene, 1.0)
    assert np.abs(luma.astype(int) - 160).max() <= 1
    assert np.abs(chroma.astype(int) - (120, 140)).max() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_light_from_one_side_is_taken_over(kind: BodyKind) -> None:
    scene = _scene(3)
    scene["patch"][..., :3] = 128
    scene["chroma"][:] = 128
    scene["luma"][:] = np.linspace(60, 200, 120).astype(np.uint8)
    scene["patch"][..., 3] = 255
    lit, flat = (_colour(kind, scene, strength)[0].astype(int) for strength in (1.0, 0.0))
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
@pytest.mark.parametrize("opacity", [0.0, 0.3, 0.5, 1.0])
def test_nothing_to_match_is_a_plain_blend_at_an_opacity(kind: BodyKind, opacity: float) -> None:
    scene = _scene(5)
    scene["patch"][..., 3] = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 256
    faded = scene["patch"].copy()
    faded[..., 3] = (faded[..., 3] * opacity + 0.5).astype(np.uint8)
    wanted = {name: scene[name].copy() for name in ("luma", "chroma")}
    body_of(BLEND_YUVA, "reference")(**wanted, patch=faded, x=22, y=14)
    stats, light = np.zeros((3, 4), np.float32), np.zeros((5, 7, 3), np.float32)
    body_of(BLEND_MATCHED, kind)(
        **scene, stats=stats, light=light, **CLEAN, strength=1.0, opacity=opacity, x=22, y=14
    )
    assert np.array_equal(scene["luma"], wanted["luma"])
    assert np.array_equal(scene["chroma"], wanted["chroma"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("x", "y", "width"), [(1, 0, 4), (0, 3, 4), (0, 0, 3)])
def test_odd_places_and_sizes_are_refused(kind: BodyKind, x: int, y: int, width: int) -> None:
    scene = _scene(6) | {"patch": np.zeros((2, width, 4), np.uint8)}
    stats, light = np.zeros((3, 4), np.float32), np.zeros((1, 1, 3), np.float32)
    with pytest.raises(ValueError, match="even"):
        body_of(BLEND_MATCHED, kind)(
            **scene, stats=stats, light=light, **CLEAN, strength=1.0, opacity=1.0, x=x, y=y
        )
