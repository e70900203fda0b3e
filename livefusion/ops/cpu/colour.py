"""Measuring what gives a patch the colours and the light of the frame below it, by rows of cells."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.dense import dense, span
from livefusion.ops.cpu.signature import READ_2D
from livefusion.ops.reference.colour import BLACK, CELL, FEWEST_SAMPLES, FIRM_ALPHA, GAIN_LIMITS, JUMP

Plane = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
Pairs = npt.NDArray[np.uint16]
Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

_SIDE = CELL // 2
_FIRM = np.int32(math.ceil(FIRM_ALPHA * 255 * 4))
_SHARE = 1 / (255 * 4)
_LOWEST_GAIN, _HIGHEST_GAIN = GAIN_LIMITS
_SPREAD_FLOOR = 1e-3
_LEVEL, _24 = np.uint32(255), np.uint32(24)


def colour_stats(
    *,
    patch: Plane,
    luma: Plane,
    chroma: Plane,
    x: int,
    y: int,
    momentum: float,
    stats: Floats,
    cells: Floats,
) -> None:
    """Measure the colours of a patch and of the frame under it; contract in ``reference.colour``."""
    pixels, samples = patch.view(np.uint32)[..., 0], chroma.view(np.uint16)[..., 0]
    _measure(pixels, luma, samples, x, y, momentum, stats, cells)


@njit(cache=True, nogil=True)
def _note(sums: npt.NDArray[np.int64], count: int, momentum: float, stats: Floats) -> None:
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
def _alphas(upper: Words, lower: Words, weighted: Ints, alpha: Ints, firm: Ints) -> int:
    """Of each sample, its alpha and whether it counts; gives how many do."""
    count = np.int32(0)
    for i in range(weighted.shape[0]):
        weighted[i] += np.int32(np.int32(upper[i] >> _24) + np.int32(lower[i] >> _24))
    for k in range(alpha.shape[0]):
        i = 2 * k
        left = np.int32(np.int32(upper[i] >> _24) + np.int32(lower[i] >> _24))
        right = np.int32(np.int32(upper[i + 1] >> _24) + np.int32(lower[i + 1] >> _24))
        total = np.int32(left + right)
        alpha[k], firm[k] = total, np.int32(total >= _FIRM)
        count += np.int32(total >= _FIRM)
    return int(count)


@njit(cache=True, nogil=True)
def _add_patch(upper: Words, lower: Words, shift: np.uint32, weighted: Ints, columns: Ints) -> None:
    """Sums of a channel over each column of two rows of the patch, of what its alphas leave and of all."""
    for i in range(columns.shape[0]):
        one = np.int32(np.uint32(upper[i] >> shift) & _LEVEL)
        two = np.int32(np.uint32(lower[i] >> shift) & _LEVEL)
        left = np.int32(np.int32(upper[i] >> _24) * one)
        weighted[i] += np.int32(left + np.int32(np.int32(lower[i] >> _24) * two))
        columns[i] = np.int32(one + two)


@njit(cache=True, nogil=True)
def _add_luma(  # noqa: PLR0917 numba takes no keyword-only arguments
    upper: Words, lower: Words, above: Plane, below: Plane, weighted: Ints, columns: Ints
) -> None:
    """The same for the luma of the frame."""
    for i in range(columns.shape[0]):
        left = np.int32(np.int32(upper[i] >> _24) * np.int32(above[i]))
        weighted[i] += np.int32(left + np.int32(np.int32(lower[i] >> _24) * np.int32(below[i])))
    for i in range(columns.shape[0]):
        columns[i] = np.int32(np.int32(above[i]) + np.int32(below[i]))


@njit(cache=True, nogil=True)
def _add_firm(columns: Ints, firm: Ints, sums: npt.NDArray[np.int64]) -> None:
    """Take the samples that count, and their squares, into the sums.

    Of one row, squares stay below 2³² up to 8192 pixels.
    """
    total, squares = np.int32(0), np.uint32(0)
    for k in range(firm.shape[0]):
        value = np.int32(np.int32(columns[2 * k] + columns[2 * k + 1]) * firm[k])
        total = np.int32(total + value)
        squares = np.uint32(squares + np.uint32(value * value))
    sums[0] += total
    sums[1] += squares


@njit(cache=True, nogil=True)
def _add_chroma(  # noqa: PLR0917 numba takes no keyword-only arguments
    samples: Pairs, shift: int, alpha: Ints, firm: Ints, weighted: Ints, sums: npt.NDArray[np.int64]
) -> None:
    """All that for a channel of the frame's chroma; ``weighted`` has a place for each sample."""
    total, squares = np.int32(0), np.uint32(0)
    for k in range(firm.shape[0]):
        level = np.int32(np.int32(np.int32(samples[k]) >> shift) & 255)
        weighted[k] += np.int32(alpha[k] * level)
        value = np.int32(np.int32(4 * level) * firm[k])
        total = np.int32(total + value)
        squares = np.uint32(squares + np.uint32(value * value))
    sums[0] += total
    sums[1] += squares


@njit(cache=True, nogil=True)
def _gather(row: Ints, width: int, side: int, line: Floats) -> None:
    """Sums over the pixels or samples of each cell, in samples; the row is set to 0."""
    for cell in range(line.shape[0]):
        total = np.int32(0)
        for k in range(cell * side, (cell + 1) * side):
            total += row[k]
        line[cell] = _SHARE * total
    row[:width] = 0


@njit(
    f"void(Array(uint32, 2, 'A', readonly=True), {READ_2D}, Array(uint16, 2, 'A', readonly=True), int64,"
    "int64, float64, float32[:, :], float32[:, :, :])",
    cache=True,
    nogil=True,
)
def _measure(  # noqa: PLR0917 numba takes no keyword-only arguments
    patch: Words,
    luma: Plane,
    chroma: Pairs,
    x: int,
    y: int,
    momentum: float,
    stats: Floats,
    cells: Floats,
) -> None:
    """``colour_stats`` without keywords; sums are integers, so that order and vector width change nothing."""
    sums = np.zeros((6, 2), np.int64)
    room = CELL * cells.shape[1]
    weighted, columns = np.zeros((7, room), np.int32), np.empty(room, np.int32)
    alphas, firms = np.empty(room // 2, np.int32), np.empty(room // 2, np.int32)
    rows, count = patch.shape[0] // 2, 0
    for row in range(rows):
        two = (dense(patch[2 * row]), dense(patch[2 * row + 1]))
        start, stop = span(two[0], two[1])
        upper, lower, first, last = two[0][start:stop], two[1][start:stop], start // 2, stop // 2
        alpha, firm, drawn = alphas[first:last], firms[first:last], columns[start:stop]
        count += _alphas(upper, lower, weighted[0, start:stop], alpha, firm)
        for channel in range(3):
            _add_patch(upper, lower, np.uint32(8 * channel), weighted[1 + channel, start:stop], drawn)
            _add_firm(drawn, firm, sums[channel])
        above, below = dense(luma[y + 2 * row])[x + start :], dense(luma[y + 2 * row + 1])[x + start :]
        _add_luma(upper, lower, above, below, weighted[4, start:stop], drawn)
        _add_firm(drawn, firm, sums[3])
        seen = dense(chroma[y // 2 + row])[x // 2 + first :]
        for channel in range(2):
            part = weighted[5 + channel, first:last]
            _add_chroma(seen, 8 * channel, alpha, firm, part, sums[4 + channel])
        if row % _SIDE == _SIDE - 1 or row == rows - 1:
            for value in range(7):
                side = CELL if value < 5 else _SIDE
                _gather(weighted[value], room, side, cells[row // _SIDE, :, value])
    if count >= FEWEST_SAMPLES:
        _note(sums, count, momentum, stats)


@njit(cache=True, nogil=True)
def matching(stats: Floats, channel: int) -> tuple[float, float]:
    """Shift and gain of one channel."""
    gain = (stats[channel, 3] + _SPREAD_FLOOR) / (stats[channel, 1] + _SPREAD_FLOOR)
    darker = min(1.0, max(stats[0, 2] - BLACK, 1.0) / max(stats[0, 0] - BLACK, 1.0))
    gain = min(max(gain, _LOWEST_GAIN * darker), _HIGHEST_GAIN)
    return stats[channel, 2] - gain * stats[channel, 0], gain
