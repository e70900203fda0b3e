"""What every body of the colour operators must hold."""

import numpy as np
import pytest
from op_case import body_of

from livefusion.devices.device import BodyKind
from livefusion.ops.reference.colour import GAIN_LIMITS, matching
from livefusion.ops.reference.light import TOLERANCE
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
    shares = {"radius": 1, "rim_radius": 0, "relight": strength, "rim": 0.0}
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=stats, light=light, **shares)
    planes = {name: scene[name].copy() for name in ("luma", "chroma")}
    body_of(BLEND_MATCHED, kind)(
        **planes,
        patch=scene["patch"],
        stats=stats,
        light=light,
        **CLEAN,
        strength=1.0,
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
@pytest.mark.parametrize(("spread", "wanted"), [(20, 20), (24, 24), (80, 20 * GAIN_LIMITS[1])])
def test_a_flat_patch_gets_the_contrast_of_the_frame_up_to_a_bound(
    kind: BodyKind, spread: int, wanted: float
) -> None:
    scene = _scene(9)
    stripes = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) // WIDTH // 4 % 2
    scene["patch"][..., :3] = (120 + 20 * (2 * stripes - 1))[..., None]
    scene["luma"][:] = 128
    scene["luma"][14 : 14 + HEIGHT, 22 : 22 + WIDTH] = 128 + spread * (2 * stripes - 1)
    scene["chroma"][:] = 128
    luma = _colour(kind, scene, 0.0)[0][(scene["patch"][..., 3] == 255)].astype(int)
    assert (luma.max() - luma.min()) / 2 == pytest.approx(wanted, abs=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("off", [1.0, 4.0, 30.0])
def test_the_rim_misses_the_frame_by_no_more_than_is_not_seen(kind: BodyKind, off: float) -> None:
    cells = np.zeros((20, 20, 7), np.float32)
    cells[..., 0] = 16
    cells[..., 4] = 16 * off
    light = np.full((20, 20, 3), np.nan, np.float32)
    shares = {"radius": 4, "rim_radius": 0, "relight": 0.0, "rim": 1.0}
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=np.zeros((3, 4), np.float32), light=light, **shares)
    assert off - light[0, 0, 0] == pytest.approx(min(off, TOLERANCE), abs=0.05)


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


def _rings(kind: BodyKind, rim: float) -> np.ndarray:
    """The light of a round face of one colour over a frame that is darker round a hole and along the edge."""
    y, x = np.mgrid[0:40, 0:40] - 19.5
    away, off = np.hypot(x, y), np.hypot(x, y + 6)
    cells = np.zeros((40, 40, 7), np.float32)
    cells[..., 0] = np.where((away < 18) & (off > 5), 16, 0)
    below = np.where((off < 7) | (away > 15), 80, 120)
    for channel in range(3):
        cells[..., 1 + channel] = 120 * cells[..., 0]
        cells[..., 4 + channel] = below * cells[..., 0]
    light = np.full((40, 40, 3), np.nan, np.float32)
    shares = {"radius": 5, "rim_radius": 1, "relight": 0.0, "rim": rim}
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=np.zeros((3, 4), np.float32), light=light, **shares)
    return light


@pytest.mark.parametrize("kind", KINDS)
def test_the_rim_lies_along_the_outer_edge_and_not_round_holes(kind: BodyKind) -> None:
    light = _rings(kind, 1.0)
    y, x = np.mgrid[0:40, 0:40] - 19.5
    away, off = np.hypot(x, y), np.hypot(x, y + 6)
    assert light[(away > 16) & (away < 18), 1].mean() < -28
    assert light[(away > 16) & (away < 18), 0].mean() < -20
    assert np.abs(light[(off > 5) & (off < 7)]).max() < 4
    assert (_rings(kind, 0.0) == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_bay_in_the_outline_is_no_edge(kind: BodyKind) -> None:
    """What covers a cheek cuts the alpha from the side; beside it there is no rim."""
    cells = np.zeros((40, 40, 7), np.float32)
    cells[4:36, 4:36, 0] = 16
    cells[16:24, 0:14, 0] = 0
    cells[..., 4:] = -30 * cells[..., :1]
    light = np.full((40, 40, 3), np.nan, np.float32)
    shares = {"radius": 4, "rim_radius": 0, "relight": 0.0, "rim": 1.0}
    body_of(LIGHT_FIELD, kind)(cells=cells, stats=np.zeros((3, 4), np.float32), light=light, **shares)
    assert np.abs(light[16:24, 14]).max() < 1
    assert light[4, 20, 1] < -25


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_without_alpha_lend_no_colour(kind: BodyKind) -> None:
    """One pixel of each square is not drawn: black, and transparent."""
    scene = _scene(7)
    scene["patch"][...] = (120, 110, 150, 255)
    scene["patch"][::2, ::2] = 0
    cells = _measure(kind, scene, 0.0, np.zeros((3, 4), np.float32))
    np.testing.assert_allclose(
        cells[..., 1:4] / cells[..., :1], np.full((5, 7, 3), (120, 110, 150)), rtol=1e-5
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("jump", "left"), [(1.0, 0.8), (4.0, 1.7), (60.0, 0.23)])
def test_small_changes_are_smoothed_and_large_ones_followed(kind: BodyKind, jump: float, left: float) -> None:
    scene = _scene(8)
    scene["patch"][..., 3] = 255
    scene["luma"][:] = 100
    stats = np.zeros((3, 4), np.float32)
    _measure(kind, scene, 0.0, stats)
    scene["luma"][:] = np.uint8(100 + jump)
    _measure(kind, scene, 0.85, stats)
    assert 100 + jump - stats[0, 2] == pytest.approx(left, abs=0.06)
