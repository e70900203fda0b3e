"""One texture of several views: whose detail it has, whose exposure, and what it leaves out."""

import numpy as np
import pytest

from livefusion.swap.mesh.bake import View
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.merge import merge, seen_share

pytestmark = pytest.mark.unit

SIDE = 1024


def view(*, facing: np.ndarray | float = 1.0, gain: float = 1.0, merit: float = 1.0, pores: int = 0) -> View:
    """Skin of one shade with pores of a seed; 0 has none."""
    rgb = np.full((SIDE, SIDE, 3), (150, 120, 100), np.float32)
    if pores:
        rgb += np.random.default_rng(pores).normal(0, 12, (SIDE, SIDE, 1))
    towards = np.broadcast_to(np.float32(facing), (SIDE, SIDE)).copy()
    return View(np.clip(rgb * gain, 0, 255).astype(np.uint8), towards, canonical_mesh().vertices, merit)


def likeness(merged: np.ndarray, one: View, where: tuple[slice, slice]) -> float:
    """Correlation of what is seen in two textures."""
    first, second = (picture[where][..., 1].ravel() for picture in (merged, one.rgb))
    return float(np.corrcoef(first, second)[0, 1])


def test_detail_is_that_of_the_sharpest_view_and_not_the_mean_of_all() -> None:
    views = [view(pores=seed, merit=0.5) for seed in (1, 2, 3, 4)] + [view(pores=5, merit=1.0)]
    merged, middle = merge(views), np.s_[300:700, 300:700]
    assert likeness(merged, views[4], middle) > 0.85
    assert merged[middle].std(axis=(0, 1))[1] > 0.65 * views[4].rgb[middle].std(axis=(0, 1))[1]


def test_each_side_is_of_the_view_that_faced_it() -> None:
    left = np.linspace(1, 0, SIDE, dtype=np.float32)[None]
    views = [view(facing=left, pores=1), view(facing=1 - left, pores=2), view(facing=0.2, pores=3)]
    merged = merge(views)
    assert likeness(merged, views[0], np.s_[300:700, 100:300]) > 0.85
    assert likeness(merged, views[1], np.s_[300:700, 724:924]) > 0.85


def test_exposure_and_white_balance_are_brought_together() -> None:
    views = [view(gain=0.7), view(gain=1.3), view(gain=1.0)]
    views[0].rgb[..., 2] //= 2
    merged = merge(views)
    assert np.ptp(merged.reshape(-1, 3), axis=0).max() <= 2
    assert np.abs(merged[500, 500].astype(int) - views[2].rgb[500, 500]).max() < 25


def test_a_hand_before_the_face_leaves_no_trace() -> None:
    views = [view(pores=seed) for seed in (1, 2, 3, 4, 5)]
    for hidden in views[:2]:
        hidden.rgb[600:800, 300:700] = (60, 90, 160)
    merged = merge(views).astype(float)
    hand, beside = merged[620:780, 320:680].mean(axis=(0, 1)), merged[300:500, 320:680].mean(axis=(0, 1))
    assert np.abs(hand - beside).max() < 6


def test_how_much_was_seen() -> None:
    half = np.zeros((SIDE, SIDE), np.float32)
    half[:, : SIDE // 2] = 1
    assert seen_share([view()]) == 1
    assert seen_share([view(facing=half)]) == pytest.approx(0.5, abs=0.02)
    assert seen_share([view(facing=half), view(facing=half[:, ::-1])]) > 0.99
    assert face_mask().max() == 1
