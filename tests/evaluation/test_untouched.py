"""One byte beyond the face is noticed, and none within it."""

from fractions import Fraction

import numpy as np
import pytest
from synthetic import SIDE, face, flat

from livefusion.core.frame import Outcome
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.tap import Pair
from livefusion.evaluation.untouched import GROWTH, UntouchedMeasure
from livefusion.evaluation.view import hull

pytestmark = pytest.mark.unit


def _figures(x: int, y: int, *, chroma: bool = False) -> dict[str, float | None]:
    before = flat()
    luma, colour = before.luma.copy(), before.chroma.copy()
    if chroma:
        colour[y // 2, x // 2, 1] += 1
    else:
        luma[y, x] += 1
    measure = UntouchedMeasure()
    after = Picture(luma, colour, before.color)
    measure.add(Pair(0, before, after, Outcome.SWAPPED, None), [face()])
    return {name: figure.mean for name, figure in measure.figures().items()}


@pytest.mark.parametrize(
    ("x", "y", "chroma", "pixels"),
    [(120, 120, False, 0), (120, 120, True, 0), (2, 2, False, 1), (2, 2, True, 4), (SIDE - 1, 0, False, 1)],
)
def test_a_single_byte(x: int, y: int, chroma: bool, pixels: int) -> None:
    figures = _figures(x, y, chroma=chroma)
    assert figures["changed_pixels"] == pixels
    outside = SIDE * SIDE - _area()
    assert figures["changed_outside"] == pytest.approx(pixels / outside, rel=0.05)


def _area() -> float:
    corners = hull(face(), GROWTH).reshape(-1, 2).astype(float)
    x, y = corners.T
    return float(Fraction(1, 2)) * abs(float(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))))


def test_without_pictures_there_is_a_reason() -> None:
    assert UntouchedMeasure().figures()["changed_outside"].mean is None
