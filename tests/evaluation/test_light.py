"""The ruler of the light: brightness in each picture, its changes, and the shading over the face."""

import numpy as np
import pytest
from synthetic import CENTRE, SIDE, chain, disc, flat, view, with_luma

from livefusion.evaluation.figure import Figures
from livefusion.evaluation.light import LightMeasure
from livefusion.evaluation.picture import Picture

pytestmark = pytest.mark.unit

ACROSS = np.tile(np.arange(SIDE) - CENTRE[0], (SIDE, 1))


def _light(pairs: list[tuple[Picture, Picture]]) -> Figures:
    measure = LightMeasure()
    for each in chain(pairs):
        measure.add(each)
    return measure.figures()


def _levels(before: list[float], after: list[float]) -> Figures:
    return _light([(flat(one), flat(other)) for one, other in zip(before, after, strict=True)])


FLASH = [100.0, 100.0, 160.0, 160.0, 100.0, 100.0, 100.0, 100.0]


def test_the_same_light_has_no_error_and_is_followed() -> None:
    figures = _levels(FLASH, FLASH)
    assert figures["luma_error"].worst == 0
    assert figures["following"].mean == pytest.approx(1)


def test_a_face_that_comes_a_picture_later_is_told() -> None:
    figures = _levels(FLASH, [100.0, *FLASH[:-1]])
    assert figures["luma_error"].worst == pytest.approx(100 * 60 / (100 - 16), rel=0.01)
    assert (figures["following"].mean or 0) < 0.2


def test_steady_light_has_nothing_to_follow() -> None:
    figures = _levels([100.0] * 8, [104.0] * 8)
    assert figures["luma_error"].mean == pytest.approx(100 * 4 / 84, rel=0.01)
    assert figures["following"].reason == "the light is steady"


@pytest.mark.parametrize(("slope", "shading"), [(0.4, 1.0), (-0.4, -1.0), (0.0, 0.0)])
def test_side_light_is_held_against_the_inputs(slope: float, shading: float) -> None:
    figures = _light([(with_luma(120 + 0.3 * ACROSS), with_luma(120 + slope * ACROSS))])
    assert figures["shading"].mean == pytest.approx(shading, abs=0.02)


def test_what_was_not_pasted_does_not_count() -> None:
    """A small patch: beside it the result is the input anyway."""
    before, after = flat(100), np.full((SIDE, SIDE), 100.0)
    inside = disc(30).alpha > 0
    after[inside] = 130
    measure = LightMeasure()
    measure.add(view(before, with_luma(after), pasted=(disc(30),)))
    assert measure.figures()["luma_error"].mean == pytest.approx(100 * 30 / 84, rel=0.02)


def test_without_a_face_there_is_a_reason() -> None:
    figures = LightMeasure().figures()
    assert figures["luma_error"].reason == "no face was swapped"
    assert figures["shading"].reason == "no face has any shading"
