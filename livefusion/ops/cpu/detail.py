"""Comparing sharpness and noise of a patch with the frame's, and making it as soft, on the CPU."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.scratch import scratch
from livefusion.ops.cpu.signature import READ_2D, READ_3D, WRITE_FLOATS_2D
from livefusion.ops.reference.colour import FIRM_ALPHA
from livefusion.ops.reference.detail import (
    BINS,
    CONTRAST_LIMITS,
    FEWEST_SAMPLES,
    QUANTILE,
    QUANTILE_OF_NORMAL,
    REACH,
    SOFTEST,
    SOFTNESS,
    SURE,
    kernel_index,
    softening_kernels,
)

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]

_FIRM = FIRM_ALPHA * 255
_LEAST_CONTRAST, _MOST_CONTRAST = CONTRAST_LIMITS
_FLAT, _CLEAR = 1e-6, 0.5
_MIDDLE = REACH // 2
_PAIR = np.uint32(0x00FF00FF)
_HALF = np.uint32(0x00800080)
_ALPHA = np.uint32(0xFF000000)
_BYTE, _THREE_BYTES = np.uint32(8), np.uint32(24)
# Pixels lie side by side in the product, and fast code needs to know; tests have padding behind the rows.
_DENSE, _PADDED, _KERNEL = "uint32[:, ::1]", "uint32[:, :]", "uint32[::1]"


def measure_detail(
    *,
    patch: Plane,
    luma: Plane,
    x: int,
    y: int,
    step: int,
    momentum: float,
    noise_momentum: float,
    detail: Floats,
) -> None:
    """Compare sharpness and noise of a patch with the frame's; contract in ``reference.detail``."""
    _measure(patch, luma, x, y, step, momentum, noise_momentum, detail)


def soften_patch(*, patch: Plane, detail: Floats) -> None:
    """Blur the colours of a patch by what it lacks of blur; contract in ``reference.detail``."""
    index = kernel_index(float(detail[2, SOFTNESS]))
    if index == 0:
        return
    height, width = patch.shape[:2]
    memory = scratch("soften_patch", 4 * height * width).view(np.uint32).reshape(height, width)
    pixels = patch.view(np.uint32)[..., 0]
    kernel = softening_kernels()[index].astype(np.uint32)
    _blur_rows(pixels, kernel, memory)
    _blur_columns(memory, kernel, pixels)


@njit(cache=True, nogil=True)
def _firm(patch: Plane, row: int, column: int) -> bool:
    firm: bool = (
        patch[row, column, 3] >= _FIRM
        and patch[row, column + REACH, 3] >= _FIRM
        and patch[row + REACH, column, 3] >= _FIRM
        and patch[row + REACH, column + REACH, 3] >= _FIRM
        and patch[row + _MIDDLE, column + _MIDDLE, 3] >= _FIRM
    )
    return firm


@njit(cache=True, nogil=True)
def _four(plane: Plane, row: int, column: int) -> int:
    total: int = (
        np.int64(plane[row, column])
        + plane[row, column + 1]
        + plane[row + 1, column]
        + plane[row + 1, column + 1]
    )
    return total


@njit(cache=True, nogil=True)
def _look(
    plane: Plane, row: int, column: int, sums: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> None:
    """Add one sample to the sums of squares of three differences, of values and of their squares."""
    first = np.int64(plane[row, column])
    for index in range(3):
        way = 1 << index
        across, down = plane[row, column + way] - first, plane[row + way, column] - first
        sums[index] += across * across + down * down
    sums[3] += first
    sums[4] += first * first
    fine = abs(first - plane[row, column + 1] - plane[row + 1, column] + np.int64(plane[row + 1, column + 1]))
    coarse = abs(
        _four(plane, row, column)
        - _four(plane, row, column + 2)
        - _four(plane, row + 2, column)
        + _four(plane, row + 2, column + 2)
    )
    counts[0, min(fine, BINS - 1)] += 1
    counts[1, min((coarse + 1) // 2, BINS - 1)] += 1


@njit(cache=True, nogil=True)
def _mix(detail: Floats, row: int, index: int, new: float, momentum: float) -> None:
    detail[row, index] = new if momentum == 0.0 else momentum * detail[row, index] + (1.0 - momentum) * new


@njit(cache=True, nogil=True)
def _noise_variance(counts: npt.NDArray[np.int64], count: int) -> float:
    wanted, below = QUANTILE * count, 0.0
    for level in range(BINS):
        if below + counts[level] >= wanted:
            low = max(0.0, level - 0.5)
            middle = low + (level + 0.5 - low) * (wanted - below) / counts[level]
            deviation: float = middle / (2.0 * QUANTILE_OF_NORMAL)
            return deviation * deviation
        below += counts[level]
    return 0.0


@njit(cache=True, nogil=True)
def _edges(row: Floats) -> tuple[float, float]:
    fine = max(row[1] - row[0], 0.0) + 0.25 * _CLEAR
    broad = max(row[2] - row[1], 0.0) + _CLEAR
    steep = 1.0 / min(max(fine / broad - 0.25, 0.004), 0.25) - 4.0
    return fine, 0.172 * steep + 0.27 * steep / (steep + 0.3)


@njit(cache=True, nogil=True)
def _note_missing(detail: Floats) -> None:
    frame_fine, frame_width = _edges(detail[0])
    patch_fine, patch_width = _edges(detail[1])
    contrast = (detail[0, 3] + _FLAT) / (detail[1, 3] + _FLAT)
    contrast = min(max(contrast, _LEAST_CONTRAST), _MOST_CONTRAST)
    weaker = (contrast * patch_fine / frame_fine) ** 2 - 1.0
    faded = max(0.0, weaker * (0.8 + patch_width))
    wider = max(0.0, frame_width - patch_width)
    blur = min(math.sqrt(wider * min(wider, faded)), SOFTEST * SOFTEST)
    share = frame_fine / patch_fine
    fine = max(0.0, detail[0, 4] - share * detail[1, 4])
    coarse = max(0.0, detail[0, 5] - share * detail[1, 5])
    coarse = min(max(0.0, (coarse - SURE * fine) / 1.25), fine)
    detail[2] = 0.0
    detail[2, 0] = math.sqrt(blur)
    detail[2, 1] = math.sqrt(fine - 0.111 * coarse)
    detail[2, 2] = math.sqrt(coarse)


@njit(
    f"void({READ_3D}, {READ_2D}, int64, int64, int64, float64, float64, {WRITE_FLOATS_2D})",
    cache=True,
    nogil=True,
)
def _measure(  # noqa: PLR0917 numba takes no keyword-only arguments
    patch: Plane,
    luma: Plane,
    x: int,
    y: int,
    step: int,
    momentum: float,
    noise_momentum: float,
    detail: Floats,
) -> None:
    """``measure_detail`` without keywords; sums are integers, so that order changes nothing."""
    sums = np.zeros((2, 5), np.int64)
    counts = np.zeros((2, 2, BINS), np.int64)
    count = 0
    drawn = patch[:, :, 0]
    for row in range(0, patch.shape[0] - REACH, step):
        if y + row < 0 or y + row + REACH >= luma.shape[0]:
            continue
        for column in range(0, patch.shape[1] - REACH, step):
            inside = x + column >= 0 and x + column + REACH < luma.shape[1]
            if not inside or not _firm(patch, row, column):
                continue
            _look(luma, y + row, x + column, sums[0], counts[0])
            _look(drawn, row, column, sums[1], counts[1])
            count += 1
    if count < FEWEST_SAMPLES:
        return
    for row in range(2):
        mean = sums[row, 3] / count
        for index in range(3):
            _mix(detail, row, index, sums[row, index] / (2.0 * count), momentum)
        _mix(detail, row, 3, max(sums[row, 4] / count - mean * mean, 0.0), momentum)
        for index in range(2):
            _mix(detail, row, 4 + index, _noise_variance(counts[row, index], count), noise_momentum)
    _note_missing(detail)


@njit(cache=True, nogil=True)
def _radius(kernel: Words) -> int:
    radius: int = kernel.shape[0] - 1
    while radius > 0 and kernel[radius] == 0:
        radius -= 1
    return radius


@njit(cache=True, nogil=True)
def _begin(line: Words, share: np.uint32, even: Words, odd: Words) -> None:
    """Two channels in each word: the first and third, the second and fourth."""
    for i in range(line.shape[0]):
        even[i] = np.uint32((line[i] & _PAIR) * share)
        odd[i] = np.uint32((line[i] >> _BYTE & _PAIR) * share)


@njit(cache=True, nogil=True)
def _add(near: Words, middle: Words, share: np.uint32, even: Words, odd: Words) -> None:
    for i in range(even.shape[0]):
        value = near[i] if near[i] >> _THREE_BYTES else middle[i]
        even[i] += np.uint32((value & _PAIR) * share)
        odd[i] += np.uint32((value >> _BYTE & _PAIR) * share)


@njit(cache=True, nogil=True)
def _finish(line: Words, even: Words, odd: Words, out: Words) -> None:
    for i in range(out.shape[0]):
        first_and_third = np.uint32(even[i] + _HALF) >> _BYTE & _PAIR
        second = np.uint32(odd[i] + _HALF) & np.uint32(0x0000FF00)
        out[i] = first_and_third | second | (line[i] & _ALPHA)


@njit([f"void({rows}, {_KERNEL}, {_DENSE})" for rows in (_DENSE, _PADDED)], cache=True, nogil=True)
def _blur_rows(pixels: Words, kernel: Words, out: Words) -> None:
    height, width = pixels.shape
    radius = _radius(kernel)
    even, odd = np.empty(width, np.uint32), np.empty(width, np.uint32)
    for row in range(height):
        line = pixels[row]
        _begin(line, kernel[0], even, odd)
        for distance in range(1, min(radius, width - 1) + 1):
            share, rest = kernel[distance], width - distance
            _add(line[:rest], line[distance:], share, even[distance:], odd[distance:])
            _add(line[distance:], line[:rest], share, even[:rest], odd[:rest])
            _add(line[:distance], line[:distance], share, even[:distance], odd[:distance])
            _add(line[rest:], line[rest:], share, even[rest:], odd[rest:])
        for distance in range(max(1, width), radius + 1):
            _add(line, line, kernel[distance], even, odd)
            _add(line, line, kernel[distance], even, odd)
        _finish(line, even, odd, out[row])


@njit([f"void({_DENSE}, {_KERNEL}, {rows})" for rows in (_DENSE, _PADDED)], cache=True, nogil=True)
def _blur_columns(pixels: Words, kernel: Words, out: Words) -> None:
    height, width = pixels.shape
    radius = _radius(kernel)
    even, odd = np.empty(width, np.uint32), np.empty(width, np.uint32)
    for row in range(height):
        line = pixels[row]
        _begin(line, kernel[0], even, odd)
        for distance in range(1, radius + 1):
            above = pixels[row - distance] if row >= distance else line
            below = pixels[row + distance] if row + distance < height else line
            _add(above, line, kernel[distance], even, odd)
            _add(below, line, kernel[distance], even, odd)
        _finish(line, even, odd, out[row])
