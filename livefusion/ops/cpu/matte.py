"""Where what a network found in front of a face ends: running sums of the colours on both sides."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.signature import READ_FLOATS_2D, READ_FLOATS_3D, WRITE_FLOATS_2D
from livefusion.ops.reference.matte import LEAST_DOUBT, LEAST_WEIGHT, NOISE, RADIUS, TINY

Floats = npt.NDArray[np.float32]

_SUMS = 8
"""Weight and three colours of what is in front, and of the face."""
_WEIGHT, _NOISE, _DOUBT, _TINY = (np.float32(value) for value in (LEAST_WEIGHT, NOISE, LEAST_DOUBT, TINY))


def occlusion_matte(*, found: Floats, image: Floats, matte: Floats) -> None:
    """Move what was found with doubt to the side of its colour; contract in ``reference.matte``."""
    _matte(found, image, matte)


@njit(inline="always")
def _clipped(value: np.float32) -> np.float32:
    return min(value, np.float32(1)) if value > np.float32(0) else np.float32(0)


@njit(inline="always")
def _add(found: Floats, image: Floats, row: int, sign: float, columns: npt.NDArray[np.float64]) -> None:
    """Take a row of the crop into the sums of each column, or out of them."""
    for x in range(columns.shape[0]):
        p = _clipped(found[row, x])
        left = np.float32(1) - p
        front, face = sign * (p * p), sign * (left * left)
        columns[x, 0] += front
        columns[x, 4] += face
        for channel in range(3):
            colour = image[channel, row, x]
            columns[x, 1 + channel] += front * colour
            columns[x, 5 + channel] += face * colour


@njit(inline="always")
def _mix_row(found: Floats, image: Floats, row: int, columns: npt.NDArray[np.float64], matte: Floats) -> None:
    """The sums along a row, and what they say of its pixels."""
    width = columns.shape[0]
    sums = np.zeros(_SUMS, np.float64)
    for x in range(-RADIUS, width):
        if x + RADIUS < width:
            for k in range(_SUMS):
                sums[k] += columns[x + RADIUS, k]
        if x - RADIUS - 1 >= 0:
            for k in range(_SUMS):
                sums[k] -= columns[x - RADIUS - 1, k]
        if x < 0:
            continue
        p = _clipped(found[row, x])
        doubt = np.float32(4) * p * (np.float32(1) - p)
        if doubt < _DOUBT:
            matte[row, x] = p
            continue
        front, face = np.float32(sums[0]), np.float32(sums[4])
        squares, product = np.float32(0), np.float32(0)
        for channel in range(3):
            behind = np.float32(sums[5 + channel]) / (face + _TINY)
            way = np.float32(sums[1 + channel]) / (front + _TINY) - behind
            squares += way * way
            product += (image[channel, row, x] - behind) * way
        along = min(max(product / (squares + np.float32(1e-6)), np.float32(0)), np.float32(1))
        enough = min(min(front, face) / _WEIGHT, np.float32(1))
        matte[row, x] = p + (along - p) * doubt * enough * squares / (squares + _NOISE)


@njit(f"void({READ_FLOATS_2D}, {READ_FLOATS_3D}, {WRITE_FLOATS_2D})", cache=True, nogil=True)
def _matte(found: Floats, image: Floats, matte: Floats) -> None:
    height, width = found.shape
    # Whole bodies of sums in double precision: what is added to them is later taken off again.
    columns = np.zeros((width, _SUMS), np.float64)
    for row in range(-RADIUS, height):
        if row + RADIUS < height:
            _add(found, image, row + RADIUS, 1.0, columns)
        if row - RADIUS - 1 >= 0:
            _add(found, image, row - RADIUS - 1, -1.0, columns)
        if row >= 0:
            _mix_row(found, image, row, columns, matte)
