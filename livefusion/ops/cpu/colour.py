"""Measuring what gives a patch the colours and the light of the frame below it, in one pass."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.colour import CELL, FEWEST_SAMPLES, FIRM_ALPHA, GAIN_LIMITS, LIGHT_PASSES

_SIDE = CELL // 2
_FIRM = FIRM_ALPHA * 255 * 4
_LOWEST_GAIN, _HIGHEST_GAIN = GAIN_LIMITS
_SPREAD_FLOOR = 1e-3
_WEIGHT_FLOOR = 1e-2


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


def light_field(
    *,
    cells: npt.NDArray[np.float32],
    stats: npt.NDArray[np.float32],
    radius: int,
    light: npt.NDArray[np.float32],
) -> None:
    """Find how the light of the frame differs from that of the patch; contract in ``reference.colour``."""
    _find_light(cells, stats, radius, light)


@njit(cache=True, nogil=True)
def _note(sums: npt.NDArray[np.int64], count: int, momentum: float, stats: npt.NDArray[np.float32]) -> None:
    """Move the statistics towards those of ``count`` samples, given their sums and sums of squares."""
    for channel in range(6):
        mean = sums[channel, 0] / count
        spread = math.sqrt(max(sums[channel, 1] / count - mean * mean, 0.0))
        place = 2 * (channel // 3)
        if momentum == 0.0:
            stats[channel % 3, place] = 0.25 * mean
            stats[channel % 3, place + 1] = 0.25 * spread
        else:
            stats[channel % 3, place] += (1.0 - momentum) * (0.25 * mean - stats[channel % 3, place])
            stats[channel % 3, place + 1] += (1.0 - momentum) * (
                0.25 * spread - stats[channel % 3, place + 1]
            )


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
            alpha = (
                np.int64(patch[top, left, 3])
                + patch[top, left + 1, 3]
                + patch[top + 1, left, 3]
                + patch[top + 1, left + 1, 3]
            )
            if alpha == 0:
                continue
            for channel in range(3):
                values[channel] = (
                    np.int64(patch[top, left, channel])
                    + patch[top, left + 1, channel]
                    + patch[top + 1, left, channel]
                    + patch[top + 1, left + 1, channel]
                )
            values[3] = (
                np.int64(luma[y + top, x + left])
                + luma[y + top, x + left + 1]
                + luma[y + top + 1, x + left]
                + luma[y + top + 1, x + left + 1]
            )
            values[4] = 4 * np.int64(chroma[y // 2 + row, x // 2 + column, 0])
            values[5] = 4 * np.int64(chroma[y // 2 + row, x // 2 + column, 1])
            share = alpha / 1020.0
            cell = cells[row // _SIDE, column // _SIDE]
            cell[0] += share
            for channel in range(6):
                cell[channel + 1] += share * 0.25 * values[channel]
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
    gain = min(max(gain, _LOWEST_GAIN), _HIGHEST_GAIN)
    return stats[channel, 2] - gain * stats[channel, 0], gain


@njit(cache=True, nogil=True)
def _find_light(
    cells: npt.NDArray[np.float32],
    stats: npt.NDArray[np.float32],
    radius: int,
    light: npt.NDArray[np.float32],
) -> None:
    """``light_field`` without keywords."""
    rows, columns = cells.shape[:2]
    current = np.empty((4, rows, columns), np.float64)
    current[3] = cells[:, :, 0]
    for channel in range(3):
        shift, gain = matching(stats, channel)
        current[channel] = cells[:, :, channel + 4] - cells[:, :, channel + 1] * gain - shift * cells[:, :, 0]
    line = np.empty(max(rows, columns), np.float64)
    for plane in range(4):
        for _ in range(LIGHT_PASSES):
            for row in range(rows):
                _box(current[plane, row], radius, line)
            for column in range(columns):
                _box(current[plane, :, column], radius, line)
    for row in range(rows):
        for column in range(columns):
            weight = current[3, row, column] + _WEIGHT_FLOOR
            for channel in range(3):
                light[row, column, channel] = current[channel, row, column] / weight


@njit(cache=True, nogil=True)
def _box(values: npt.NDArray[np.float64], radius: int, line: npt.NDArray[np.float64]) -> None:
    """Replace values by their means over 2 · radius + 1 neighbours, zero outside; ``line`` is scratch."""
    size = values.shape[0]
    line[:size] = values
    total = line[: min(radius, size)].sum()
    for index in range(size):
        if index + radius < size:
            total += line[index + radius]
        if index - radius - 1 >= 0:
            total -= line[index - radius - 1]
        values[index] = total / (2 * radius + 1)
