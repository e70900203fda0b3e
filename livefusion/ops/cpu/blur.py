"""Make a region unrecognisable: sums over cells in one pass, smooth ramps between their means in another."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.signature import READ_2D, WRITE_2D
from livefusion.ops.reference.blur import grid_of
from livefusion.ops.reference.paste import check_even

Plane = npt.NDArray[np.uint8]
Grid = npt.NDArray[np.float32]


@njit(f"void({READ_2D}, float32[:, ::1])", cache=True, nogil=True, fastmath=True)
def _cell_means(area: Plane, means: Grid) -> None:
    """Means of the (rows, columns) cells of a (h, w) area."""
    (height, width), (rows, columns) = area.shape, means.shape
    for i in range(rows):
        first, last = i * height // rows, (i + 1) * height // rows
        for j in range(columns):
            start, end = j * width // columns, (j + 1) * width // columns
            total = np.uint32(0)  # holds the sum of 16 million pixels
            for row in range(first, last):
                for column in range(start, end):
                    total += area[row, column]
            means[i, j] = np.float32(total) / np.float32((last - first) * (end - start))


@njit(cache=True, nogil=True, fastmath=True)
def _place(index: int, cells: int, length: int) -> tuple[int, int, np.float32]:
    """The two cells whose means make up a pixel, and the share of the second."""
    position = (index + 0.5) * cells / length - 0.5
    position = min(max(position, 0.0), cells - 1.0)
    low = int(position)
    return low, min(low + 1, cells - 1), np.float32(position - low)


@njit("void(float32[:, ::1], float32[:, ::1])", cache=True, nogil=True, fastmath=True)
def _ramps(means: Grid, wide: Grid) -> None:
    """Interpolate (rows, columns) means along their rows to the width of the area."""
    for column in range(wide.shape[1]):
        low, high, share = _place(column, means.shape[1], wide.shape[1])
        for row in range(wide.shape[0]):
            wide[row, column] = means[row, low] + (means[row, high] - means[row, low]) * share


@njit(
    f"void({WRITE_2D}, float32[:, ::1], UniTuple(float64, 4), float64)",
    cache=True,
    nogil=True,
    fastmath=True,
)
def _replace(area: Plane, wide: Grid, inner: tuple[float, float, float, float], feather: float) -> None:
    """Cover a (h, w) area: fully in ``inner`` (left, top, right, bottom), fading out round it."""
    (height, width), rows = area.shape, wide.shape[0]
    half, one, zero = np.float32(0.5), np.float32(1), np.float32(0)
    start = min(max(int(np.ceil(inner[0] - 0.5)), 0), width)
    end = min(max(int(np.ceil(inner[2] - 0.5)), start), width)
    for row in range(height):
        low, high, share = _place(row, rows, height)
        away = max(inner[1] - (row + 0.5), row + 0.5 - inner[3], 0.0)
        target = area[row]
        if away == 0.0:
            for column in range(start, end):
                value = wide[low, column] + (wide[high, column] - wide[low, column]) * share
                target[column] = np.uint8(value + half)
        for column in range(width):
            if start <= column < end and away == 0.0:
                continue
            beside = max(inner[0] - (column + 0.5), column + 0.5 - inner[2], 0.0)
            cover = one - np.float32(np.sqrt(beside * beside + away * away) / feather)
            old = np.float32(target[column])
            value = wide[low, column] + (wide[high, column] - wide[low, column]) * share
            target[column] = np.uint8(old + (value - old) * max(cover, zero) + half)


def blur_region(
    luma: Plane, chroma: Plane, *, x: int, y: int, width: int, height: int, cells: int = 8, feather: int = 0
) -> None:
    """Replace a box of NV12 by its mean colours in place; see ``livefusion.ops.reference.blur``."""
    check_even(x, y, width, height, feather)
    left, top = max(0, x - feather), max(0, y - feather)
    right = min(luma.shape[1], x + width + feather)
    bottom = min(luma.shape[0], y + height + feather)
    if width <= 0 or height <= 0 or left >= right or top >= bottom:
        return
    rows, columns = grid_of(right - left, bottom - top, cells)
    means = np.empty((rows, columns), np.float32)
    for step, plane in ((1, luma), (2, chroma[..., 0]), (2, chroma[..., 1])):
        area = plane[top // step : bottom // step, left // step : right // step]
        inner = (x - left) / step, (y - top) / step, (x + width - left) / step, (y + height - top) / step
        wide = np.empty((rows, area.shape[1]), np.float32)
        _cell_means(area, means)
        _ramps(means, wide)
        _replace(area, wide, inner, max(feather / step, 1.0))
