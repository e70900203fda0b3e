"""Colour across the edge, sharpness and grain, on pictures made for the purpose."""

import numpy as np
import pytest
from synthetic import CENTRE, SIDE, disc, flat, grainy, view, with_luma

from livefusion.core.geometry import Region
from livefusion.evaluation.border import BorderMeasure, Rings
from livefusion.evaluation.colour_difference import delta_e
from livefusion.evaluation.figure import Figures
from livefusion.evaluation.picture import Picture, lab
from livefusion.evaluation.texture import TextureMeasure

pytestmark = pytest.mark.unit


def _blended(before: Picture, face: Picture) -> Picture:
    alpha = disc().alpha.astype(float) / 255
    luma = before.luma * (1 - alpha) + face.luma * alpha
    half = alpha[::2, ::2, None]
    chroma = before.chroma * (1 - half) + face.chroma * half
    return Picture(np.rint(luma).astype(np.uint8), np.rint(chroma).astype(np.uint8), before.color)


def _border(before: Picture, after: Picture) -> Figures:
    measure = BorderMeasure()
    measure.add(view(before, after, pasted=(disc(),)))
    return measure.figures()


def test_no_change_is_no_border() -> None:
    figures = _border(flat(), flat())
    assert figures["delta_e"].mean == 0
    assert figures["step"].mean == 0
    assert figures["not_skin"].mean == 0


def test_another_colour_inside_is_told_as_its_difference() -> None:
    before, other = flat(), flat(134, 112, 146)
    expected = float(delta_e(lab(before.rgb[:1, :1])[0, 0], lab(other.rgb[:1, :1])[0, 0]))
    assert expected > 3
    figures = _border(before, _blended(before, other))
    assert figures["delta_e"].mean == pytest.approx(expected, rel=0.1)
    assert figures["step"].mean == pytest.approx(expected, rel=0.1)


def test_a_patch_that_closes_a_step_adds_none() -> None:
    """Skin in the middle of a slightly darker picture, made as dark as what is round it."""
    around = flat(112)
    before = _blended(around, flat(120))
    figures = _border(before, around)
    assert (figures["delta_e"].mean or 0) > 1
    assert figures["step"].mean == pytest.approx(0, abs=0.1)


def test_hair_under_the_edge_is_counted_apart() -> None:
    luma = np.full((SIDE, SIDE), 120.0)
    luma[:75] = 30
    before = with_luma(luma)
    figures = _border(before, _blended(before, flat()))
    assert 0.05 < (figures["not_skin"].mean or 0) < 0.6
    assert figures["delta_e"].mean == pytest.approx(0, abs=0.5)


def test_without_the_alpha_there_is_a_reason() -> None:
    measure = BorderMeasure()
    measure.add(view(flat(), flat(90)))
    assert measure.figures()["delta_e"].reason == "what was pasted cannot be told"


def test_rings_lie_on_both_sides_of_the_edge_and_not_round_holes() -> None:
    alpha = disc().alpha.copy()
    alpha[110:130, 110:130] = 0
    rings = Rings.of(alpha, 120)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    away = np.hypot(x - CENTRE[0], y - CENTRE[1])
    assert 50 < away[rings.inside].min() <= away[rings.inside].max() < 61
    assert 60 < away[rings.outside].min() <= away[rings.outside].max() < 69


def _texture(before: Picture, after: Picture) -> Figures:
    measure = TextureMeasure()
    measure.add(view(before, after))
    return measure.figures()


def test_half_the_contrast_is_half_as_sharp() -> None:
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(float)
    waves = np.sin(x / 4) + np.cos(y / 5)
    figures = _texture(with_luma(120 + 40 * waves), with_luma(120 + 20 * waves))
    assert figures["sharpness_ratio"].mean == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize(("sigma", "ratio"), [(4, 1.0), (8, 2.0), (0, 0.0)])
def test_grain_is_in_proportion_to_the_noise(sigma: float, ratio: float) -> None:
    figures = _texture(grainy(4, 1), grainy(sigma, 2))
    assert figures["grain_ratio"].mean == pytest.approx(ratio, abs=0.1)


def test_inside_is_held_against_outside() -> None:
    before = grainy(4, 1)
    smooth = before.luma.copy()
    smooth[60:180, 60:180] = 120
    after = Picture(smooth, before.chroma, before.color)
    alpha = np.zeros((SIDE, SIDE), np.uint8)
    alpha[60:180, 60:180] = 255
    measure = TextureMeasure()
    patch = disc().__class__(Region(0, 0, SIDE, SIDE), alpha)
    measure.add(view(before, after, pasted=(patch,)))
    figures = measure.figures()
    assert figures["grain_inside_outside"].mean == pytest.approx(0, abs=0.3)
    assert figures["grain_inside_outside_input"].mean == pytest.approx(1, abs=0.1)
