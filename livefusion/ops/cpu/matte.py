"""Where what a network found in front of a face ends: running sums of the colours on both sides."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.geometry import Affine
from livefusion.ops.cpu.signature import READ_FLOATS_2D, READ_FLOATS_3D, WRITE_FLOATS_2D
from livefusion.ops.reference.matte import LEAST_DOUBT, LEAST_WEIGHT, NOISE, RADIUS, TINY

Floats = npt.NDArray[np.float32]

_SUMS = 8
"""Weight and three colours of what is in front, and of the face."""
_WEIGHT, _NOISE, _DOUBT, _TINY = (np.float32(value) for value in (LEAST_WEIGHT, NOISE, LEAST_DOUBT, TINY))


def occlusion_matte(*, found: Floats, image: Floats, matte: Floats) -> None:
    """Move what was found with doubt to the side of its colour; contract in ``reference.matte``."""
    _matte(found, image, matte)


def bare_of_tensor(
    *,
    tensor: npt.NDArray[np.floating],
    to_tensor: Affine,
    low: float,
    gain: float,
    classes: int,
    matte: Floats,
) -> None:
    """Raise a matte to what another network sees before the face; contract in ``reference.matte``."""
    values = tensor if tensor.dtype == np.float32 else tensor.astype(np.float32)
    _bare(values, to_tensor.matrix, low, gain, classes, matte)


@njit(inline="always")
def _is_bare(tensor: Floats, row: int, column: int, classes: int) -> float:
    """1 if the likeliest class of a pixel is one of those, or is no number."""
    best = 0
    for index in range(tensor.shape[0]):
        if np.isnan(tensor[index, row, column]):
            return 1.0
        if tensor[index, row, column] > tensor[best, row, column]:
            best = index
    return float(classes >> best & 1)


_MAP = "Array(float64, 2, 'A', readonly=True)"


@njit(
    f"void({READ_FLOATS_3D}, {_MAP}, float64, float64, int64, {WRITE_FLOATS_2D})",
    cache=True,
    nogil=True,
)
def _bare(  # noqa: PLR0917 numba takes no keyword-only arguments
    tensor: Floats, forth: npt.NDArray[np.float64], low: float, gain: float, classes: int, matte: Floats
) -> None:
    depth, height, width = tensor.shape
    for y in range(matte.shape[0]):
        for x in range(matte.shape[1]):
            u = min(max(forth[0, 0] * x + forth[0, 1] * y + forth[0, 2], 0.0), width - 1.0)
            v = min(max(forth[1, 0] * x + forth[1, 1] * y + forth[1, 2], 0.0), height - 1.0)
            left, top = int(u), int(v)
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            across, down = u - left, v - top
            if depth == 1:
                upper = tensor[0, top, left] * (1 - across) + tensor[0, top, right] * across
                lower = tensor[0, bottom, left] * (1 - across) + tensor[0, bottom, right] * across
                bare = (upper * (1 - down) + lower * down - low) * gain
            else:
                upper = _is_bare(tensor, top, left, classes) * (1 - across)
                upper += _is_bare(tensor, top, right, classes) * across
                lower = _is_bare(tensor, bottom, left, classes) * (1 - across)
                lower += _is_bare(tensor, bottom, right, classes) * across
                bare = upper * (1 - down) + lower * down
            hidden = np.float32(1 - min(max(bare, 0.0), 1.0)) if bare == bare else np.float32(0)  # noqa: PLR0124
            matte[y, x] = max(matte[y, x], hidden)


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
        doubt = (np.float32(4) * p * (np.float32(1) - p) - _DOUBT) / (np.float32(1) - _DOUBT)
        if doubt <= np.float32(0):
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
