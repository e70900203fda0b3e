"""Rows of pictures as the vectorised loops take them."""

import numpy as np
import pytest
from numba import njit

from livefusion.ops.cpu.dense import dense, span

pytestmark = pytest.mark.unit


@njit
def _doubled(plane: np.ndarray, row: int, start: int) -> np.ndarray:
    cut = dense(plane[row])[start:]
    for i in range(cut.shape[0]):
        cut[i] *= 2
    return cut.copy()


def test_a_dense_row_is_the_row_itself() -> None:
    wide = np.arange(40, dtype=np.uint32).reshape(4, 10)
    plane = wide[:, :7]
    before = wide.copy()
    assert _doubled(plane, 2, 3).tolist() == [46, 48, 50, 52]
    before[2, 3:7] *= 2
    assert np.array_equal(wide, before)


@pytest.mark.parametrize(
    ("upper", "lower", "wanted"),
    [
        ([], [], (0, 0)),
        ([0, 0, 0, 0], [0, 0, 0, 0], None),
        ([0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0], (2, 4)),
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0], (2, 6)),
        ([0, 9, 0, 0, 0, 0], [0, 0, 0, 0, 0, 255], (0, 6)),
    ],
)
def test_a_span_has_all_pixels_with_alpha(
    upper: list[int], lower: list[int], wanted: tuple[int, int] | None
) -> None:
    rows = [np.array(alphas, np.uint32) << 24 | 0x00FFFFFF for alphas in (upper, lower)]
    start, stop = span(*(row.astype(np.uint32) for row in rows))
    if wanted is None:
        assert start >= stop
    else:
        assert (start, stop) == wanted
