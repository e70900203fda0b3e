"""The part of a crop that is face, row by row."""

import numpy as np
import pytest

from livefusion.blend.occlusion_outline import outline_of
from livefusion.core.geometry import Affine

pytestmark = pytest.mark.unit

SIDE = 64
SAME = Affine([[1, 0, 0], [0, 1, 0]])


def ellipse(centre: tuple[float, float], width: float, height: float) -> np.ndarray:
    turn = np.linspace(0, 2 * np.pi, 478)
    points = np.zeros((478, 3), np.float32)
    points[:, 0] = centre[0] + width / 2 * np.cos(turn)
    points[:, 1] = centre[1] + height / 2 * np.sin(turn)
    return points


def test_each_row_has_the_span_of_the_face_a_little_drawn_in() -> None:
    rows, first, last = outline_of(ellipse((32, 30), 40, 50), SAME, SIDE).astype(int).T
    assert (rows == np.clip(np.arange(SIDE), 6, 54)).all()
    assert 12 < first[30] <= 14
    assert 50 <= last[30] < 52
    assert (first <= last).all()
    assert (first[6:30] >= first[7:31]).all()


def test_points_are_taken_from_the_frame_to_the_crop() -> None:
    to_crop = Affine.similarity(0.1, 0.3, (300, 200), (32, 30))
    there = to_crop.inverse()(ellipse((32, 30), 40, 50)[:, :2].astype(np.float64))
    points = np.column_stack([there, np.zeros(478)]).astype(np.float32)
    far = np.abs(
        outline_of(points, to_crop, SIDE).astype(int) - outline_of(ellipse((32, 30), 40, 50), SAME, SIDE)
    )
    assert far.max() <= 1


@pytest.mark.parametrize("centre", [(500.0, 30.0), (32.0, -400.0)])
def test_without_a_face_all_is_looked_at_where_it_is(centre: tuple[float, float]) -> None:
    found = outline_of(ellipse(centre, 40, 50), SAME, SIDE)
    assert (found == [(row, 0, SIDE - 1) for row in range(SIDE)]).all()


def test_a_face_beyond_the_crop_is_cut_at_its_edge() -> None:
    rows, first, last = outline_of(ellipse((32, 32), 200, 300), SAME, SIDE).astype(int).T
    assert (rows == np.arange(SIDE)).all()
    assert (first == 0).all()
    assert (last == SIDE - 1).all()
