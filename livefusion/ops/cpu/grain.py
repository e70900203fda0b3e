"""Rows of grain for the blend on the CPU; the definition is ``reference.grain``."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.grain import ACROSS, DOWN, SALT

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]

_ACROSS, _FIRST, _SECOND = np.uint32(ACROSS), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_PAIR, _WORD = np.uint32(0x00FF00FF), np.uint32(0xFFFF)
_8, _13, _16 = np.uint32(8), np.uint32(13), np.uint32(16)


@njit(cache=True, nogil=True)
def _random(column: np.uint32, down: np.uint32) -> np.uint32:
    word = np.uint32(column * _ACROSS) ^ down
    word = np.uint32((word ^ word >> _16) * _FIRST)
    word = np.uint32((word ^ word >> _13) * _SECOND)
    return np.uint32(word ^ word >> _16)


@njit(cache=True, nogil=True)
def hash_row(x: int, y: int, seed: int, values: Ints) -> None:
    """White values of the pixels of row ``y`` from ``x`` on."""
    down = np.uint32((y * DOWN + seed) & 0xFFFFFFFF)
    first = np.uint32(x & 0xFFFFFFFF)
    for i in range(values.shape[0]):
        word = _random(np.uint32(first + np.uint32(i)), down)
        pairs = np.uint32((word & _PAIR) + (word >> _8 & _PAIR))
        values[i] = np.int32(pairs & _WORD) + np.int32(pairs >> _16) - np.int32(510)


@njit(cache=True, nogil=True)
def luma_row(rows: Ints, white: np.float32, coarse: np.float32, noise: Floats) -> None:
    """Grain of a row of pixels; ``rows`` are white values above, in and below it, a column wider."""
    above, middle, below = rows[0], rows[1], rows[2]
    for i in range(noise.shape[0]):
        left = above[i] + 2 * middle[i] + below[i]
        here = above[i + 1] + 2 * middle[i + 1] + below[i + 1]
        right = above[i + 2] + 2 * middle[i + 2] + below[i + 2]
        noise[i] = white * np.float32(middle[i + 1]) + coarse * np.float32(left + 2 * here + right)


@njit(cache=True, nogil=True)
def chroma_row(x: int, y: int, seed: int, colour: np.float32, noise: Floats) -> None:
    """(2, samples) grain of Cb and of Cr in row ``y`` of chroma samples, from ``x`` on."""
    down = np.uint32((y * DOWN + (seed ^ SALT)) & 0xFFFFFFFF)
    first = np.uint32(x & 0xFFFFFFFF)
    for i in range(noise.shape[1]):
        word = _random(np.uint32(first + np.uint32(i)), down)
        pairs = np.uint32((word & _PAIR) + (word >> _8 & _PAIR))
        noise[0, i] = colour * np.float32(np.int32(pairs & _WORD) - np.int32(255))
        noise[1, i] = colour * np.float32(np.int32(pairs >> _16) - np.int32(255))
