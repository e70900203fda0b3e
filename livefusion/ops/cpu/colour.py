"""Measuring what gives a patch the colours and the light of the frame below it, in one pass."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.colour import BLACK, CELL, FEWEST_SAMPLES, FIRM_ALPHA, GAIN_LIMITS, JUMP

_SIDE = CELL // 2
_FIRM = FIRM_ALPHA * 255 * 4
_SHARE = 1 / (255 * 4)
_LOWEST_GAIN, _HIGHEST_GAIN = GAIN_LIMITS
_SPREAD_FLOOR = 1e-3


def colour_stats(
    *,
    patch: npt.NDArray[np.uint8],
    luma: npt.NDArray[np.uint8],
    chroma: npt.NDArray[np.uint8],
    x: int,
    y: int,
    momentum: float,
    stats: npt.NDArray[np.float32],
    cells: npt.NDArray[np.float32],
) -> None:
    """Measure the colours of a patch and of the frame under it; contract in ``reference.colour``."""
    _measure(patch, luma, chroma, x, y, momentum, stats, cells)


@njit(cache=True, nogil=True)
def _note(sums: npt.NDArray[np.int64], count: int, momentum: float, stats: npt.NDArray[np.float32]) -> None:
    """Move the statistics towards those of ``count`` samples, given their sums and sums of squares."""
    for channel in range(6):
        mean = sums[channel, 0] / count
        spread = math.sqrt(max(sums[channel, 1] / count - mean * mean, 0.0))
        place = 2 * (channel // 3)
        stats[channel % 3, place] = _followed(stats[channel % 3, place], 0.25 * mean, momentum)
        stats[channel % 3, place + 1] = _followed(stats[channel % 3, place + 1], 0.25 * spread, momentum)


@njit(cache=True, nogil=True)
def _followed(old: float, new: float, momentum: float) -> float:
    """The new value, and what remains of the old one."""
    if momentum == 0.0:
        return new
    off = old - new
    return new + momentum * off / (1.0 + (off / JUMP) * (off / JUMP))


@njit(cache=True, nogil=True)
def _measure(  # noqa: PLR0917 numba takes no keyword-only arguments
    patch: npt.NDArray[np.uint8],
    luma: npt.NDArray[np.uint8],
    chroma: npt.NDArray[np.uint8],
    x: int,
    y: int,
    momentum: float,
    stats: npt.NDArray[np.float32],
    cells: npt.NDArray[np.float32],
) -> None:
    """``colour_stats`` without keywords; sums are integers, so that order and vector width change nothing."""
    cells[:] = 0.0
    sums = np.zeros((6, 2), np.int64)
    count = 0
    values = np.zeros(6, np.int64)
    for row in range(patch.shape[0] // 2):
        top = 2 * row
        for column in range(patch.shape[1] // 2):
            left = 2 * column
            a00, a01 = np.int64(patch[top, left, 3]), np.int64(patch[top, left + 1, 3])
            a10, a11 = np.int64(patch[top + 1, left, 3]), np.int64(patch[top + 1, left + 1, 3])
            alpha = a00 + a01 + a10 + a11
            if alpha == 0:
                continue
            cell = cells[row // _SIDE, column // _SIDE]
            cell[0] += _SHARE * alpha
            for channel in range(4):
                if channel < 3:
                    v00, v01 = np.int64(patch[top, left, channel]), np.int64(patch[top, left + 1, channel])
                    v10 = np.int64(patch[top + 1, left, channel])
                    v11 = np.int64(patch[top + 1, left + 1, channel])
                else:
                    v00, v01 = np.int64(luma[y + top, x + left]), np.int64(luma[y + top, x + left + 1])
                    v10 = np.int64(luma[y + top + 1, x + left])
                    v11 = np.int64(luma[y + top + 1, x + left + 1])
                values[channel] = v00 + v01 + v10 + v11
                cell[channel + 1] += _SHARE * (a00 * v00 + a01 * v01 + a10 * v10 + a11 * v11)
            for channel in range(2):
                level = np.int64(chroma[y // 2 + row, x // 2 + column, channel])
                values[channel + 4] = 4 * level
                cell[channel + 5] += _SHARE * alpha * level
            if alpha >= _FIRM:
                count += 1
                for channel in range(6):
                    sums[channel, 0] += values[channel]
                    sums[channel, 1] += values[channel] * values[channel]
    if count >= FEWEST_SAMPLES:
        _note(sums, count, momentum, stats)


@njit(cache=True, nogil=True)
def matching(stats: npt.NDArray[np.float32], channel: int) -> tuple[float, float]:
    """Shift and gain of one channel."""
    gain = (stats[channel, 3] + _SPREAD_FLOOR) / (stats[channel, 1] + _SPREAD_FLOOR)
    darker = min(1.0, max(stats[0, 2] - BLACK, 1.0) / max(stats[0, 0] - BLACK, 1.0))
    gain = min(max(gain, _LOWEST_GAIN * darker), _HIGHEST_GAIN)
    return stats[channel, 2] - gain * stats[channel, 0], gain
