"""Fill and shift the values of a rectangle of a picture."""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.scratch import scratch
from livefusion.ops.cpu.signature import READ_2D, WRITE_2D
from livefusion.ops.reference.plane import BLOCK, fill_region

__all__ = ["add_plane", "fill_region"]  # filling is slice assignment, which NumPy does best

Plane = npt.NDArray[np.uint8]
Delta = npt.NDArray[np.int8]


# Row by row, which the compiler turns into vectors: 0.9 ms for 720p, of which the extremes take 0.05.
@njit(
    f"void({WRITE_2D}, Array(int8, 2, 'A', readonly=True), {READ_2D}, uint8[:, ::1])", cache=True, nogil=True
)
def _add(luma: Plane, delta: Delta, gains: Plane, rows: Plane) -> None:
    height, width = luma.shape
    low, high, gain = rows[0], rows[1], rows[2]
    for top in range(0, height, BLOCK):
        bottom = min(top + BLOCK, height)
        first = luma[top]
        for column in range(width):
            low[column] = high[column] = first[column]
        for column in range(width, width + BLOCK):  # what the last block lacks
            low[column] = high[column] = first[width - 1]
        for row in range(top + 1, bottom):
            line = luma[row]
            for column in range(width):
                value = line[column]
                low[column] = value if value < low[column] else low[column]
                high[column] = value if value > high[column] else high[column]
        for step in (1, 2, 4):
            for column in range(width):
                less, more = low[column + step], high[column + step]
                low[column] = less if less < low[column] else low[column]
                high[column] = more if more > high[column] else high[column]
        for left in range(0, width, BLOCK):
            least: Any = np.int64(low[left])
            most: Any = np.int64(high[left])
            gain[left : left + BLOCK] = gains[min((most - least) >> 2, 15), (most + least) >> 5]
        for row in range(top, bottom):
            line, change = luma[row], delta[row]
            for column in range(width):
                shift: Any = (np.int64(change[column]) * np.int64(gain[column]) + 128) >> 8
                line[column] = np.uint8(min(max(np.int64(line[column]) + shift, 0), 255))


def add_plane(luma: Plane, delta: Delta, gains: Plane) -> None:
    """Add to the luma, as strongly as each block hides it; see ``livefusion.ops.reference.plane``."""
    _add(luma, delta, gains, scratch("add_plane", 3, luma.shape[1] + BLOCK))
