"""NV12 to RGB and back, whole pictures: one pass over pairs of rows."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.color import ColorInfo, Siting
from livefusion.ops.yuv import RgbToYuv, YuvToRgb, chroma_origin

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath=True)
def _chroma_row(chroma: Plane, row: int, left: float, line: Floats) -> None:
    """(2, w) Cb, Cr less 128 of one luma row: chroma rows lie half a luma row below the even ones."""
    height, half = chroma.shape[0], chroma.shape[1]
    near = row // 2
    far = min(max(near + (1 if row % 2 else -1), 0), height - 1)
    for channel in range(2):
        for column in range(line.shape[1]):
            position = (column - left) / 2
            position = min(max(position, 0.0), half - 1.0)
            low = int(position)
            high = min(low + 1, half - 1)
            share = np.float32(position - low)
            a = np.float32(0.75) * chroma[near, low, channel] + np.float32(0.25) * chroma[far, low, channel]
            b = np.float32(0.75) * chroma[near, high, channel] + np.float32(0.25) * chroma[far, high, channel]
            line[channel, column] = a + (b - a) * share - np.float32(128)


@njit(cache=True, nogil=True, fastmath=True)
def _to_rgb(luma: Plane, chroma: Plane, rgb: Plane, yuv: Floats, left: float) -> None:
    offset, light_gain, red_cr, green_cb, green_cr, blue_cb = yuv
    zero, top, half = np.float32(0), np.float32(255), np.float32(0.5)
    line = np.empty((2, luma.shape[1]), np.float32)
    for row in range(luma.shape[0]):
        _chroma_row(chroma, row, left, line)
        for column in range(luma.shape[1]):
            light = (np.float32(luma[row, column]) - offset) * light_gain
            u, v = line[0, column], line[1, column]
            rgb[row, column, 0] = np.uint8(min(max(light + red_cr * v, zero), top) + half)
            rgb[row, column, 1] = np.uint8(min(max(light + green_cb * u + green_cr * v, zero), top) + half)
            rgb[row, column, 2] = np.uint8(min(max(light + blue_cb * u, zero), top) + half)


def nv12_to_rgb(luma: Plane, chroma: Plane, rgb: Plane, color: ColorInfo) -> None:
    """Convert a whole picture to RGB; see ``livefusion.ops.reference.convert``."""
    yuv = np.array(YuvToRgb.of(color).values(), np.float32)
    _to_rgb(luma, chroma, rgb, yuv, chroma_origin(color.siting)[0])


@njit(cache=True, nogil=True, fastmath=True)
def _to_luma(rgb: Plane, luma: Plane, weights: Floats, offset: np.float32) -> None:
    start = offset + np.float32(0.5)
    for row in range(luma.shape[0]):
        for column in range(luma.shape[1]):
            r, g, b = rgb[row, column, 0], rgb[row, column, 1], rgb[row, column, 2]
            value = weights[0] * r + weights[1] * g + weights[2] * b + start
            luma[row, column] = np.uint8(min(value, np.float32(255)))


@njit(cache=True, nogil=True, fastmath=True)
def _to_chroma(rgb: Plane, chroma: Plane, weights: Floats, before: int, at: int) -> None:
    """Weigh the columns before, at and after a sample by ``before``, ``at`` and their rest to 4."""
    after = 4 - before - at
    eighth, middle, top = np.float32(0.125), np.float32(128.5), np.float32(255)
    for row in range(chroma.shape[0]):
        upper, lower = rgb[2 * row], rgb[2 * row + 1]
        for column in range(chroma.shape[1]):
            here = 2 * column
            back = max(here - 1, 0)
            cb, cr = np.float32(0), np.float32(0)
            for channel in range(3):
                total = (np.int32(upper[here, channel]) + np.int32(lower[here, channel])) * at
                total += (np.int32(upper[here + 1, channel]) + np.int32(lower[here + 1, channel])) * after
                total += (np.int32(upper[back, channel]) + np.int32(lower[back, channel])) * before
                mean = np.float32(total) * eighth
                cb += weights[0, channel] * mean
                cr += weights[1, channel] * mean
            chroma[row, column, 0] = np.uint8(min(cb + middle, top))
            chroma[row, column, 1] = np.uint8(min(cr + middle, top))


def rgb_to_nv12(rgb: Plane, luma: Plane, chroma: Plane, color: ColorInfo) -> None:
    """Convert a whole RGB picture to NV12; see ``livefusion.ops.reference.convert``."""
    k = RgbToYuv.of(color)
    _to_luma(rgb, luma, np.array(k.luma, np.float32), np.float32(k.luma_offset))
    before, at = (1, 2) if color.siting is Siting.LEFT else (0, 2)
    _to_chroma(rgb, chroma, np.array([k.cb, k.cr], np.float32), before, at)
