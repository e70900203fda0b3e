"""Blend a patch into a picture, in place: one pass over its 2×2 blocks."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.colour import matching
from livefusion.ops.cpu.grain import chroma_row, hash_row, luma_row
from livefusion.ops.cpu.signature import (
    READ_1D,
    READ_3D,
    READ_FLOATS_2D,
    READ_FLOATS_3D,
    WRITE_2D,
    WRITE_3D,
)
from livefusion.ops.reference.colour import CELL
from livefusion.ops.reference.grain import grain_gains
from livefusion.ops.reference.paste import check_even, opacity_table

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def blend_yuva(luma: Plane, chroma: Plane, patch: Plane, x: int, y: int) -> None:
    """Blend a Y, Cb, Cr, A patch into NV12 in place; see ``livefusion.ops.reference.paste``."""
    check_even(x, y, patch.shape[1], patch.shape[0])
    _blend(luma, chroma, patch, x, y)


def blend_matched(
    *,
    patch: Plane,
    stats: Floats,
    light: Floats,
    detail: Floats,
    strength: float,
    opacity: float,
    grain: float,
    seed: int,
    luma: Plane,
    chroma: Plane,
    x: int,
    y: int,
) -> None:
    """Match the colours of a patch, light it and blend it into NV12; contract in ``reference.paste``."""
    check_even(x, y, patch.shape[1], patch.shape[0])
    noise = grain_gains(detail, grain)
    _blend_matched(luma, chroma, patch, stats, light, strength, opacity_table(opacity), noise, seed, x, y)


@njit(f"void({WRITE_2D}, {WRITE_3D}, {READ_3D}, int64, int64)", cache=True, nogil=True)
def _blend(luma: Plane, chroma: Plane, patch: Plane, x: int, y: int) -> None:
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(patch.shape[1], luma.shape[1] - x), min(patch.shape[0], luma.shape[0] - y)
    for row in range(top, bottom, 2):
        for column in range(left, right, 2):
            weight, cb, cr = np.int32(0), np.int32(0), np.int32(0)
            for down in range(2):
                for across in range(2):
                    i, j = row + down, column + across
                    a = np.int32(patch[i, j, 3])
                    old = np.int32(luma[y + i, x + j])
                    new = (old * (255 - a) + np.int32(patch[i, j, 0]) * a + 127) // 255
                    luma[y + i, x + j] = np.uint8(new)
                    cb += a * np.int32(patch[i, j, 1])
                    cr += a * np.int32(patch[i, j, 2])
                    weight += a
            if weight:
                i, j = (y + row) // 2, (x + column) // 2
                keep = 1020 - weight
                chroma[i, j, 0] = np.uint8((np.int32(chroma[i, j, 0]) * keep + cb + 510) // 1020)
                chroma[i, j, 1] = np.uint8((np.int32(chroma[i, j, 1]) * keep + cr + 510) // 1020)


@njit(cache=True, nogil=True, fastmath=True)
def _between(pixel: int, cells: int) -> tuple[int, np.float32]:
    """The cell whose middle lies before a pixel, and the share of the next one."""
    place = min(max((pixel - (CELL - 1) / 2) / CELL, 0.0), cells - 1.0)
    return int(place), np.float32(place - int(place))


@njit(cache=True, nogil=True, fastmath=True)
def _light_row(light: Floats, shifts: Floats, strength: float, y: int, line: Floats) -> None:
    """What is added to Y, Cb and Cr in row ``y``, in the middle of each cell; (cells + 1, 3)."""
    upper, share = _between(y, light.shape[0])
    lower = min(upper + 1, light.shape[0] - 1)
    for column in range(line.shape[0]):
        cell = min(column, light.shape[1] - 1)
        for channel in range(3):
            above, below = light[upper, cell, channel], light[lower, cell, channel]
            line[column, channel] = shifts[channel] + strength * (above + (below - above) * share)


@njit(cache=True, nogil=True, fastmath=True)
def _matched(level: np.uint8, gain: np.float32, added: np.float32) -> np.int32:
    return np.int32(min(max(level * gain + added + np.float32(0.5), np.float32(0)), np.float32(255)))


@njit(cache=True, nogil=True)
def _hash_rows(left: int, top: int, seed: int, goes_on: bool, words: npt.NDArray[np.int32]) -> None:
    """Four rows of random words from (``left``, ``top``) on; ``goes_on`` if the last two begin these."""
    for line in range(4):
        if line < 2 and goes_on:
            words[line] = words[line + 2]
        else:
            hash_row(left, top + line, seed, words[line])


@njit(cache=True, nogil=True)
def _shows(patch: Plane, row: int, column: int) -> bool:
    """Whether any of 2 × 2 pixels of a patch has alpha."""
    upper = patch[row, column, 3] | patch[row, column + 1, 3]
    return bool(upper | patch[row + 1, column, 3] | patch[row + 1, column + 1, 3])


@njit(cache=True, nogil=True)
def _mixed(level: np.uint8, weight: np.int32, colour: np.int32) -> np.uint8:
    """A chroma sample with the ``colour`` of four pixels over it, both weighted by their alphas."""
    total = (np.int32(level) * (1020 - weight) + colour + 510) >> 2
    return np.uint8((total + 1 + (total >> 8)) >> 8)


@njit(
    f"void({WRITE_2D}, {WRITE_3D}, {READ_3D}, {READ_FLOATS_2D}, {READ_FLOATS_3D}, float64, {READ_1D},"
    "UniTuple(float64, 3), int64, int64, int64)",
    cache=True,
    nogil=True,
    fastmath=True,
)
def _blend_matched(  # noqa: PLR0917 numba takes no keyword-only arguments
    luma: Plane,
    chroma: Plane,
    patch: Plane,
    stats: Floats,
    light: Floats,
    strength: float,
    alphas: Plane,
    noise: tuple[float, float, float],
    seed: int,
    x: int,
    y: int,
) -> None:
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(patch.shape[1], luma.shape[1] - x), min(patch.shape[0], luma.shape[0] - y)
    columns = light.shape[1]
    lines = np.empty((2, columns + 1, 3), np.float32)
    shifts, gains = np.empty(3, np.float32), np.empty(3, np.float32)
    for channel in range(3):
        shifts[channel], gains[channel] = matching(stats, channel)
    gain_y, gain_b, gain_r = gains[0], gains[1], gains[2]
    white, coarse, colour = np.float32(noise[0]), np.float32(noise[1]), np.float32(noise[2])
    noisy = white + coarse + colour > 0
    # Rows of random numbers from the one above the first of two rows of pixels to the one below the second.
    words = np.zeros((4, max(right - left, 0) + 2), np.int32)
    y_noise = np.zeros((2, max(right - left, 0)), np.float32)
    c_noise = np.zeros((2, max(right - left, 0) // 2), np.float32)
    for row in range(top, bottom, 2):
        if noisy:
            _hash_rows(x + left - 1, y + row - 1, seed, row > top, words)
            for down in range(2):
                luma_row(words[down : down + 3], white, coarse, y_noise[down])
            chroma_row((x + left) // 2, (y + row) // 2, seed, colour, c_noise)
        _light_row(light, shifts, strength, row, lines[0])
        _light_row(light, shifts, strength, row + 1, lines[1])
        for column in range(left, right, 2):
            if not _shows(patch, row, column):
                continue
            weight, cb, cr = np.int32(0), np.int32(0), np.int32(0)
            # Middles of cells lie between such blocks, so both columns have the same neighbours.
            cell, first_share = _between(column, columns)
            _, second_share = _between(column + 1, columns)
            b_noise, r_noise = c_noise[0, (column - left) // 2], c_noise[1, (column - left) // 2]
            for down in range(2):
                line, following = lines[down, cell], lines[down, cell + 1]
                y_add, y_more = line[0], following[0] - line[0]
                b_add, b_more = line[1] + b_noise, following[1] - line[1]
                r_add, r_more = line[2] + r_noise, following[2] - line[2]
                for across in range(2):
                    i, j = row + down, column + across
                    share = second_share if across else first_share
                    a = np.int32(alphas[patch[i, j, 3]])
                    added = y_add + y_more * share + y_noise[down, j - left]
                    new = _matched(patch[i, j, 0], gain_y, added)
                    total = np.int32(luma[y + i, x + j]) * (255 - a) + new * a + 127
                    luma[y + i, x + j] = np.uint8((total + 1 + (total >> 8)) >> 8)
                    cb += a * _matched(patch[i, j, 1], gain_b, b_add + b_more * share)
                    cr += a * _matched(patch[i, j, 2], gain_r, r_add + r_more * share)
                    weight += a
            i, j = (y + row) // 2, (x + column) // 2
            chroma[i, j, 0] = _mixed(chroma[i, j, 0], weight, cb)
            chroma[i, j, 1] = _mixed(chroma[i, j, 1], weight, cr)
