"""Rows of grain for the blend on the CPU; the definition is ``reference.grain``.

Each loop writes one array and keeps to 32 bits, so that it is vectorised.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.grain import ACROSS, DOWN, SALT

Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]

_ACROSS, _FIRST, _SECOND = np.uint32(ACROSS), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_PAIR, _WORD = np.uint32(0x00FF00FF), np.uint32(0xFFFF)
_8, _13, _16 = np.uint32(8), np.uint32(13), np.uint32(16)


@njit(cache=True, nogil=True)
def columns_from(x: int, out: Words) -> None:
    """What columns from ``x`` on bring into the hash. Made in the loops over rows, it would keep them from
    being vectorised, which makes them seven times as slow."""
    first = np.uint32(x & 0xFFFFFFFF)
    for i in range(out.shape[0]):
        out[i] = np.uint32(np.uint32(first + np.uint32(i)) * _ACROSS)


@njit(inline="always")
def _random(column: np.uint32, down: np.uint32) -> np.uint32:
    word = np.uint32(column ^ down)
    word = np.uint32(np.uint32(word ^ np.uint32(word >> _16)) * _FIRST)
    word = np.uint32(np.uint32(word ^ np.uint32(word >> _13)) * _SECOND)
    return np.uint32(word ^ np.uint32(word >> _16))


@njit(inline="always")
def _pairs(word: np.uint32) -> np.uint32:
    """The sums of the first two bytes and of the last two, side by side."""
    return np.uint32(np.uint32(word & _PAIR) + np.uint32(np.uint32(word >> _8) & _PAIR))


@njit(cache=True, nogil=True)
def hash_row(columns: Words, y: int, seed: int, values: Ints) -> None:
    """White values of the pixels of row ``y`` in these columns."""
    down = np.uint32((y * DOWN + seed) & 0xFFFFFFFF)
    for i in range(values.shape[0]):
        pairs = _pairs(_random(columns[i], down))
        values[i] = np.int32(np.int32(pairs & _WORD) + np.int32(pairs >> _16)) - np.int32(510)


@njit(cache=True, nogil=True)
def hash_rows(columns: Words, y: int, seed: int, goes_on: bool, values: Ints) -> None:
    """Four rows of white values from row ``y`` on; ``goes_on`` if the last two begin these."""
    for k in range(4):
        if k < 2 and goes_on:
            values[k] = values[k + 2]
        else:
            hash_row(columns, y + k, seed, values[k])


@njit(cache=True, nogil=True)
def luma_row(rows: Ints, white: np.float32, coarse: np.float32, sums: Ints, noise: Floats) -> None:
    """Grain of a row of pixels; ``rows`` are white values above, in and below it, a column wider.

    So is ``sums``, which is scratch.
    """
    above, middle, below = rows[0], rows[1], rows[2]
    for i in range(sums.shape[0]):
        sums[i] = np.int32(above[i] + np.int32(2 * middle[i])) + below[i]
    for i in range(noise.shape[0]):
        total = np.int32(np.int32(sums[i] + np.int32(2 * sums[i + 1])) + sums[i + 2])
        noise[i] = white * np.float32(middle[i + 1]) + coarse * np.float32(total)


@njit(cache=True, nogil=True)
def chroma_row(columns: Words, y: int, seed: int, colour: np.float32, noise: Floats) -> None:
    """(2, 2 · samples) grain of Cb and of Cr of the samples of row ``y`` in these columns, each twice."""
    down = np.uint32((y * DOWN + (seed ^ SALT)) & 0xFFFFFFFF)
    cb, cr = noise[0], noise[1]
    for k in range(columns.shape[0]):
        pairs = _pairs(_random(columns[k], down))
        blue = colour * np.float32(np.int32(pairs & _WORD) - np.int32(255))
        red = colour * np.float32(np.int32(pairs >> _16) - np.int32(255))
        cb[2 * k], cb[2 * k + 1] = blue, blue
        cr[2 * k], cr[2 * k + 1] = red, red
