"""The fast body of ``blend_matched``: rows of a patch are lit and blended two by two, a channel at a time.

Loops go along rows, write one array each and keep to 32 bits, so that they are vectorised; what lies between
the first and the last pixel of two rows that has alpha is blended, whether it has some or not, as alpha 0
changes nothing.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.colour import matching
from livefusion.ops.cpu.dense import dense, span
from livefusion.ops.cpu.grain import chroma_row, columns_from, hash_rows, luma_row
from livefusion.ops.cpu.signature import READ_1D, READ_FLOATS_2D, READ_FLOATS_3D, WRITE_2D
from livefusion.ops.reference.colour import CELL

Plane = npt.NDArray[np.uint8]
Pairs = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

_HALF_CELL = CELL // 2
_8, _16, _24 = np.uint32(8), np.uint32(16), np.uint32(24)
_LEVEL = np.uint32(255)


@njit(cache=True, nogil=True, fastmath=True)
def _widen(  # noqa: PLR0917 numba takes no keyword-only arguments
    light: Floats, stats: Floats, strength: float, line: Floats, wide: Floats, gains: Floats
) -> None:
    """What each channel is multiplied by, (3,), and what is added in the middles of the rows of cells.

    ``wide`` is (rows, 3, 8 · (cells + 1)), from the fourth pixel before the first one on; ``line``
    (cells + 2,) is scratch.
    """
    cells = light.shape[1]
    for channel in range(3):
        shift, gains[channel] = matching(stats, channel)
        for row in range(light.shape[0]):
            for cell in range(cells + 2):
                near = min(max(cell - 1, 0), cells - 1)
                line[cell] = shift + strength * light[row, near, channel]
            pixels = wide[row, channel]
            for cell in range(cells + 1):
                here = line[cell]
                step = (line[cell + 1] - here) / np.float32(CELL)
                for k in range(CELL):
                    pixels[cell * CELL + k] = here + step * np.float32(k + 0.5)


@njit(cache=True, nogil=True)
def _between(row: int, cells: int) -> tuple[int, int, np.float32]:
    """The rows of cells above and below a row of pixels, and the share of the lower one."""
    place = min(max((row - (CELL - 1) / 2) / CELL, 0.0), cells - 1.0)
    upper = int(place)
    return upper, min(upper + 1, cells - 1), np.float32(place - upper)


@njit(cache=True, nogil=True)
def _levels(line: Words, alphas: Plane, through: bool, out: Ints) -> None:
    """The alphas of a row after the opacity."""
    if through:
        for i in range(out.shape[0]):
            out[i] = np.int32(alphas[np.int32(line[i] >> _24)])
    else:
        for i in range(out.shape[0]):
            out[i] = np.int32(line[i] >> _24)


@njit(inline="always")
def _matched(level: np.uint32, gain: np.float32, added: np.float32) -> np.int32:
    value = np.float32(np.int32(level)) * gain + added + np.float32(0.5)
    return np.int32(min(max(value, np.float32(0)), np.float32(255)))


@njit(cache=True, nogil=True, fastmath=True)
def _blend_luma(  # noqa: PLR0917 numba takes no keyword-only arguments
    line: Words,
    alpha: Ints,
    gain: np.float32,
    above: Floats,
    below: Floats,
    share: np.float32,
    noise: Floats,
    luma: Plane,
) -> None:
    for i in range(luma.shape[0]):
        light = above[i] + (below[i] - above[i]) * share
        new = _matched(np.uint32(line[i] & _LEVEL), gain, light + noise[i])
        a, old = alpha[i], np.int32(luma[i])
        total = np.int32(np.int32(old * np.int32(255 - a)) + np.int32(new * a)) + np.int32(127)
        luma[i] = np.uint8(np.int32(np.int32(total) + np.int32(1) + np.int32(np.int32(total) >> 8)) >> 8)


@njit(cache=True, nogil=True, fastmath=True)
def _sum_chroma(  # noqa: PLR0917 numba takes no keyword-only arguments
    upper: Words,
    lower: Words,
    alpha: tuple[Ints, Ints],
    shift: np.uint32,
    gain: np.float32,
    lights: tuple[Floats, Floats],
    shares: tuple[np.float32, np.float32],
    noise: Floats,
    sums: Ints,
) -> None:
    """The colours of the two pixels in each column of two rows, times their alphas."""
    above, below = lights
    for i in range(sums.shape[0]):
        light, way = above[i] + noise[i], below[i] - above[i]
        first = _matched(np.uint32(np.uint32(upper[i] >> shift) & _LEVEL), gain, light + way * shares[0])
        second = _matched(np.uint32(np.uint32(lower[i] >> shift) & _LEVEL), gain, light + way * shares[1])
        sums[i] = np.int32(np.int32(first * alpha[0][i]) + np.int32(second * alpha[1][i]))


@njit(inline="always")
def _mixed(level: np.int32, keep: np.int32, colour: np.int32) -> np.int32:
    """A chroma sample with the ``colour`` of four pixels over it, both weighted by their alphas."""
    total = np.int32(np.int32(np.int32(level * keep) + colour) + np.int32(510)) >> 2
    total = np.int32(total)
    return np.int32(np.int32(total + np.int32(1) + np.int32(total >> 8)) >> 8)


@njit(cache=True, nogil=True)
def _blend_chroma(alpha: tuple[Ints, Ints], blue: Ints, red: Ints, chroma: Pairs) -> None:
    upper, lower = alpha
    for k in range(chroma.shape[0]):
        i = 2 * k
        weight = np.int32(np.int32(upper[i] + upper[i + 1]) + np.int32(lower[i] + lower[i + 1]))
        keep, old = np.int32(np.int32(1020) - weight), np.int32(chroma[k])
        cb = _mixed(np.int32(old & 255), keep, np.int32(blue[i] + blue[i + 1]))
        cr = _mixed(np.int32(old >> 8), keep, np.int32(red[i] + red[i + 1]))
        chroma[k] = np.uint16(np.int32(cb | np.int32(cr << 8)))


@njit(
    f"void({WRITE_2D}, uint16[:, :], Array(uint32, 2, 'A', readonly=True), {READ_FLOATS_2D},"
    f"{READ_FLOATS_3D}, float64, {READ_1D}, boolean, UniTuple(float64, 3), int64, int64, int64)",
    cache=True,
    nogil=True,
    fastmath=True,
)
def blend_rows(  # noqa: PLR0917 numba takes no keyword-only arguments
    luma: Plane,
    chroma: Pairs,
    patch: Words,
    stats: Floats,
    light: Floats,
    strength: float,
    alphas: Plane,
    through: bool,
    noise: tuple[float, float, float],
    seed: int,
    x: int,
    y: int,
) -> None:
    """``blend_matched`` of a patch whose pixels, and of a picture whose chroma samples, are one word each.

    ``through`` says whether alphas go through the table ``alphas``; they are taken as they are if not.
    """
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(patch.shape[1], luma.shape[1] - x), min(patch.shape[0], luma.shape[0] - y)
    width, cells = max(right - left, 0), light.shape[1]
    wide, gains = np.empty((light.shape[0], 3, CELL * (cells + 1)), np.float32), np.empty(3, np.float32)
    _widen(light, stats, strength, np.empty(cells + 2, np.float32), wide, gains)
    white, coarse, colour = np.float32(noise[0]), np.float32(noise[1]), np.float32(noise[2])
    # Rows of random numbers from the one above the first of two rows of pixels to the one below the second.
    words, vertical = np.empty((4, width + 2), np.int32), np.empty(width + 2, np.int32)
    columns, samples = np.empty(width + 2, np.uint32), np.empty(width // 2, np.uint32)
    columns_from(x + left - 1, columns)
    columns_from((x + left) // 2, samples)
    grain, speckle, hashed = np.zeros(width, np.float32), np.zeros((2, width), np.float32), top - 3
    alpha, colours = np.empty((2, width), np.int32), np.empty((2, width), np.int32)
    for row in range(top, bottom, 2):
        upper, lower = dense(patch[row])[left:right], dense(patch[row + 1])[left:right]
        start, stop = span(upper, lower)
        if start >= stop:
            continue
        noisy = white + coarse + colour > 0
        if noisy:
            hash_rows(columns, y + row - 1, seed, hashed == row - 2, words)
            chroma_row(samples, (y + row) // 2, seed, colour, speckle)
            hashed = row
        two, levels = (upper[start:stop], lower[start:stop]), (alpha[0, start:stop], alpha[1, start:stop])
        # Middles of cells lie between such pairs of rows, so both have the same neighbours.
        ahead, behind, share = _between(row, light.shape[0])
        shares = (share, _between(row + 1, light.shape[0])[2])
        begin, end = left + start + _HALF_CELL, left + stop + _HALF_CELL
        for down in range(2):
            if noisy:
                luma_row(words[down : down + 3], white, coarse, vertical, grain)
            _levels(two[down], alphas, through, levels[down])
            target = dense(luma[y + row + down])[x + left + start : x + left + stop]
            lit = (wide[ahead, 0, begin:end], wide[behind, 0, begin:end], shares[down])
            _blend_luma(two[down], levels[down], gains[0], *lit, grain[start:stop], target)
        for channel in range(1, 3):
            lights = (wide[ahead, channel, begin:end], wide[behind, channel, begin:end])
            specks, sums = speckle[channel - 1, start:stop], colours[channel - 1, start:stop]
            shift = _8 if channel == 1 else _16
            _sum_chroma(two[0], two[1], levels, shift, gains[channel], lights, shares, specks, sums)
        pairs = dense(chroma[(y + row) // 2])[(x + left + start) // 2 : (x + left + stop) // 2]
        _blend_chroma(levels, colours[0, start:stop], colours[1, start:stop], pairs)
