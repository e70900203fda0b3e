"""Flicker and jitter of pictures that change by known amounts."""

import numpy as np
import pytest
from synthetic import SIDE, chain, face, flat, grainy, view, with_luma

from livefusion.evaluation.flicker import FlickerMeasure
from livefusion.evaluation.jitter import JitterMeasure, trembling
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.view import FaceView

pytestmark = pytest.mark.unit


def _figures(views: list[FaceView]) -> dict[str, float]:
    measure = FlickerMeasure()
    for one in views:
        measure.add(one)
    return {name: figure.mean or 0.0 for name, figure in measure.figures().items()}


def _pattern(shift: int = 0) -> Picture:
    y, x = np.mgrid[0:SIDE, 0:SIDE].astype(float)
    return with_luma(120 + 40 * np.sin((x - shift) / 3) * np.cos(y / 4))


def test_twice_the_noise_is_twice_the_flicker() -> None:
    views = chain([(grainy(3, seed), grainy(6, 100 + seed)) for seed in range(5)])
    assert _figures(views)["flicker_ratio"] == pytest.approx(2, rel=0.05)


def test_the_same_picture_has_the_ratio_one() -> None:
    views = chain([(picture, picture) for picture in (grainy(3, seed) for seed in range(4))])
    figures = _figures(views)
    assert figures["flicker_ratio"] == pytest.approx(1)
    assert figures["flicker_low_ratio"] == pytest.approx(1)


def test_motion_of_the_face_is_no_flicker_but_a_texture_that_stays_behind_is() -> None:
    shifts = [0, 3, 6, 9]
    faces = [face(shift=(shift, 0)) for shift in shifts]
    moving = [_pattern(shift) for shift in shifts]
    with_it = _figures(chain([(one, one) for one in moving], faces))
    behind = _figures(chain([(one, _pattern(0)) for one in moving], faces))
    assert with_it["difference_result"] < 1
    assert behind["difference_result"] > 15


def test_pumping_light_shows_in_the_low_ratio_most() -> None:
    pairs = [(grainy(3, seed), grainy(3, 50 + seed, luma=120 + 3 * (seed % 2))) for seed in range(6)]
    figures = _figures(chain(pairs))
    assert figures["flicker_low_ratio"] > 5
    assert figures["flicker_ratio"] < 2


def test_a_gap_is_not_compared_across() -> None:
    first = view(grainy(3, 0), grainy(3, 1), seq=0)
    later = view(grainy(3, 2), grainy(3, 3), seq=5, previous=first)
    measure = FlickerMeasure()
    measure.add(later)
    assert measure.figures()["flicker_ratio"].reason == "no face was swapped in two pictures in a row"


def test_trembling_is_the_spread_of_the_points() -> None:
    random = np.random.default_rng(0)
    frames = [(face() + random.normal(0, 0.5, (478, 3))).astype(np.float32) for _ in range(60)]
    assert trembling(frames) == pytest.approx(0.5 * np.sqrt(2), rel=0.05)
    assert trembling([face()] * 5) == 0


def test_a_result_that_trembles_more_than_the_input() -> None:
    random, measure, picture = np.random.default_rng(1), JitterMeasure(), flat()
    for seq in range(40):
        now = (face() + random.normal(0, 1.0, (478, 3))).astype(np.float32)
        measure.add(view(picture, picture, now=now, seq=seq))
    figures = measure.figures()
    assert figures["jitter_input"].mean == pytest.approx(0)
    assert (figures["jitter"].mean or 0) > 1
    assert JitterMeasure().figures()["jitter"].mean is None
