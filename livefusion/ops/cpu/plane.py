"""Fill and shift the values of a rectangle of a picture."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.plane import fill_region

__all__ = ["add_plane", "fill_region"]  # filling is slice assignment, which NumPy does best

Plane = npt.NDArray[np.uint8]


@njit("void(uint8[:, :], Array(int8, 2, 'A', readonly=True), int64, int64)", cache=True, nogil=True)
def _add(luma: Plane, delta: npt.NDArray[np.int8], x: int, y: int) -> None:
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(delta.shape[1], luma.shape[1] - x), min(delta.shape[0], luma.shape[0] - y)
    for row in range(top, bottom):
        for column in range(left, right):
            value = int(luma[y + row, x + column]) + int(delta[row, column])
            luma[y + row, x + column] = np.uint8(min(max(value, 0), 255))


def add_plane(luma: Plane, delta: npt.NDArray[np.int8], x: int, y: int) -> None:
    """Add to a rectangle of the luma in place; see ``livefusion.ops.reference.plane``."""
    _add(luma, delta, x, y)
