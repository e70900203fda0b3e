"""Colour descriptions: code values of black and white, and the guess for untagged streams."""

import pytest

from livefusion.core.color import LUMA_WEIGHTS, ColorInfo, Matrix, Range

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("height", "matrix"),
    [(480, Matrix.BT601), (719, Matrix.BT601), (720, Matrix.BT709), (2160, Matrix.BT709)],
)
def test_guess_follows_the_height(height: int, matrix: Matrix) -> None:
    assert ColorInfo.guess(height).matrix is matrix


@pytest.mark.parametrize(
    ("quantisation", "black", "white", "chroma"), [(Range.LIMITED, 16, 235, 224), (Range.FULL, 0, 255, 255)]
)
def test_code_values_of_a_range(quantisation: Range, black: float, white: float, chroma: float) -> None:
    color = ColorInfo(range=quantisation)
    assert color.luma_offset == black
    assert color.luma_offset + color.luma_span == white
    assert color.chroma_span == chroma


def test_every_matrix_has_weights_that_leave_room_for_green() -> None:
    assert set(LUMA_WEIGHTS) == set(Matrix)
    for matrix in Matrix:
        kr, kb = ColorInfo(matrix=matrix).luma_weights
        assert 0.5 < 1 - kr - kb < 0.8
