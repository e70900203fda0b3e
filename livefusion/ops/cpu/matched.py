"""The fast body of ``blend_matched``: rows of a patch are lit and blended two by two, a channel at a time.

Loops go along rows, write one array each and keep to 32 bits, so that they are vectorised; what lies between
the first and the last pixel of two rows that has alpha is blended, whether it has some or not, as alpha 0
changes nothing.
"""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.colour import matching
from livefusion.ops.cpu.dense import dense
from livefusion.ops.cpu.grain import add_grain, chroma_row, columns_from, hash_rows
from livefusion.ops.cpu.signature import READ_1D, READ_FLOATS_2D, READ_FLOATS_3D, WRITE_2D
from livefusion.ops.reference.colour import CELL

Plane = npt.NDArray[np.uint8]
Pairs = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

_HALF_CELL = CELL // 2
_ALPHA, _8, _16, _24 = np.uint32(0xFF000000), np.uint32(8), np.uint32(16), np.uint32(24)
_LEVEL = np.uint32(255)


@njit(cache=True, nogil=True, fastmath=True)
def _light_planes(light: Floats, stats: Floats, strength: float, planes: Floats, gains: Floats) -> None:
    """What is added in the middle of each cell; (rows, 3, cells + 2), the first and the last twice.

    And (3,) what each channel is multiplied by.
    """
    cells = light.shape[1]
    for channel in range(3):
        shift, gains[channel] = matching(stats, channel)
        for row in range(light.shape[0]):
            line = planes[row, channel]
            for cell in range(cells + 2):
                near = min(max(cell - 1, 0), cells - 1)
                line[cell] = shift + strength * light[row, near, channel]


@njit(cache=True, nogil=True, fastmath=True)
def _light_row(  # noqa: PLR0917 numba takes no keyword-only arguments
    planes: Floats, row: int, first: int, last: int, line: Floats, out: Floats
) -> None:
    """(3, 8 · (cells + 1)) what is added in a row of pixels, from the fourth before the first one on.

    It is made between the pixels ``first`` and ``last`` only.
    """
    start, stop = (first + _HALF_CELL) // CELL, (last - 1 + _HALF_CELL) // CELL + 1
    place = min(max((row - (CELL - 1) / 2) / CELL, 0.0), planes.shape[0] - 1.0)
    upper = int(place)
    share = np.float32(place - upper)
    above, below = planes[upper], planes[min(upper + 1, planes.shape[0] - 1)]
    for channel in range(3):
        ahead, behind = above[channel], below[channel]
        for cell in range(start, stop + 1):
            line[cell] = ahead[cell] + (behind[cell] - ahead[cell]) * share
        pixels = out[channel]
        for cell in range(start, stop):
            here = line[cell]
            step = (line[cell + 1] - here) / np.float32(CELL)
            for k in range(CELL):
                pixels[cell * CELL + k] = here + step * np.float32(k + 0.5)


@njit(cache=True, nogil=True)
def _span(upper: Words, lower: Words) -> tuple[int, int]:
    """The even columns between which two rows of a patch have alpha."""
    first, last = 0, upper.shape[0]
    while first < last and not (upper[first] | lower[first]) & _ALPHA:
        first += 1
    while last > first and not (upper[last - 1] | lower[last - 1]) & _ALPHA:
        last -= 1
    return first - first % 2, last + last % 2


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
def _blend_luma(line: Words, alpha: Ints, gain: np.float32, added: Floats, luma: Plane) -> None:
    for i in range(luma.shape[0]):
        new = _matched(np.uint32(line[i] & _LEVEL), gain, added[i])
        a, old = alpha[i], np.int32(luma[i])
        total = np.int32(np.int32(old * np.int32(255 - a)) + np.int32(new * a)) + np.int32(127)
        luma[i] = np.uint8(np.int32(np.int32(total) + np.int32(1) + np.int32(np.int32(total) >> 8)) >> 8)


@njit(cache=True, nogil=True, fastmath=True)
def _sum_chroma(  # noqa: PLR0917 numba takes no keyword-only arguments
    line: Words, alpha: Ints, shift: np.uint32, gain: np.float32, light: Floats, row: Floats, out: Ints
) -> None:
    """Add to the sums of each chroma sample the colours of two pixels, times their alphas."""
    noise, sums = dense(row), dense(out)
    for k in range(sums.shape[0]):
        i = 2 * k
        one = _matched(np.uint32(np.uint32(line[i] >> shift) & _LEVEL), gain, light[i] + noise[k])
        other = _matched(np.uint32(np.uint32(line[i + 1] >> shift) & _LEVEL), gain, light[i + 1] + noise[k])
        sums[k] += np.int32(np.int32(one * alpha[i]) + np.int32(other * alpha[i + 1]))


@njit(inline="always")
def _mixed(level: np.int32, keep: np.int32, colour: np.int32) -> np.int32:
    """A chroma sample with the ``colour`` of four pixels over it, both weighted by their alphas."""
    total = np.int32(np.int32(np.int32(level * keep) + colour) + np.int32(510)) >> 2
    total = np.int32(total)
    return np.int32(np.int32(total + np.int32(1) + np.int32(total >> 8)) >> 8)


@njit(cache=True, nogil=True)
def _blend_chroma(alpha: Ints, colours: Ints, chroma: Pairs) -> None:
    upper, lower, cb, cr = dense(alpha[0]), dense(alpha[1]), dense(colours[0]), dense(colours[1])
    for k in range(chroma.shape[0]):
        i = 2 * k
        weight = np.int32(np.int32(upper[i] + upper[i + 1]) + np.int32(lower[i] + lower[i + 1]))
        keep, old = np.int32(np.int32(1020) - weight), np.int32(chroma[k])
        blue = _mixed(np.int32(old & 255), keep, cb[k])
        red = _mixed(np.int32(old >> 8), keep, cr[k])
        chroma[k] = np.uint16(np.int32(blue | np.int32(red << 8)))


@njit(cache=True, nogil=True, fastmath=True)
def _sum_both(  # noqa: PLR0917 numba takes no keyword-only arguments
    line: Words, alpha: Ints, gains: Floats, lights: Floats, noise: Floats, sums: Ints
) -> None:
    for channel in range(2):
        shift, light = (_8 if channel == 0 else _16), dense(lights[1 + channel])
        _sum_chroma(line, alpha, shift, gains[1 + channel], light, noise[channel], sums[channel])


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
    width, cells = max(right - left, 0), light.shape[1] + 2
    planes, line = np.empty((light.shape[0], 3, cells), np.float32), np.empty(cells, np.float32)
    lit, gains = np.empty((2, 3, CELL * (cells - 1)), np.float32), np.empty(3, np.float32)
    _light_planes(light, stats, strength, planes, gains)
    white, coarse, colour = np.float32(noise[0]), np.float32(noise[1]), np.float32(noise[2])
    # Rows of random numbers from the one above the first of two rows of pixels to the one below the second.
    words, vertical = np.empty((4, width + 2), np.int32), np.empty(width + 2, np.int32)
    columns, samples = np.empty(width + 2, np.uint32), np.empty(width // 2, np.uint32)
    columns_from(x + left - 1, columns)
    columns_from((x + left) // 2, samples)
    speckle, hashed = np.zeros((2, width // 2), np.float32), top - 3
    alpha, colours = np.empty((2, width), np.int32), np.empty((2, width // 2), np.int32)
    for row in range(top, bottom, 2):
        two = (dense(patch[row])[left:right], dense(patch[row + 1])[left:right])
        start, stop = _span(two[0], two[1])
        if start >= stop:
            continue
        first, last, shift = start // 2, stop // 2, left + _HALF_CELL
        if white + coarse + colour > 0:
            hash_rows(columns, y + row - 1, seed, hashed == row - 2, words)
            chroma_row(samples, (y + row) // 2, seed, colour, speckle)
            hashed = row
        colours[:, first:last] = 0
        for down in range(2):
            _light_row(planes, row + down, left + start, left + stop, line, lit[down])
            if white + coarse > 0:
                place = dense(lit[down, 0])[shift : shift + width]
                add_grain(words[down : down + 3], white, coarse, vertical, place)
            shown, levels = two[down][start:stop], alpha[down, start:stop]
            _levels(shown, alphas, through, levels)
            added, target = lit[down, :, shift + start : shift + stop], dense(luma[y + row + down])
            _blend_luma(shown, levels, gains[0], dense(added[0]), target[x + left + start : x + left + stop])
            _sum_both(shown, levels, gains, added, speckle[:, first:last], colours[:, first:last])
        target_pairs = dense(chroma[(y + row) // 2])[(x + left) // 2 + first : (x + left) // 2 + last]
        _blend_chroma(alpha[:, start:stop], colours[:, first:last], target_pairs)
