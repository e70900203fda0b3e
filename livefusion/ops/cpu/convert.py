"""NV12 to RGB and back, whole pictures: one pass over pairs of rows."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.color import ColorInfo, Siting
from livefusion.ops.cpu.signature import READ_2D, READ_3D, WRITE_2D, WRITE_3D
from livefusion.ops.yuv import RgbToYuv, YuvToRgb

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@njit(cache=True, nogil=True, fastmath=True)
def _chroma_row(chroma: Plane, row: int, is_left: bool, line: Floats) -> None:
    """(2, w) Cb, Cr less 128 of one luma row, bilinear between the samples round it."""
    height, half = chroma.shape[0], chroma.shape[1]
    near = row // 2
    far = min(max(near + (1 if row % 2 else -1), 0), height - 1)
    even, odd = (np.float32(1), np.float32(0.5)) if is_left else (np.float32(0.75), np.float32(0.75))
    quarter, middle = np.float32(0.25), np.float32(128)
    for channel in range(2):
        upper, lower, target = chroma[near, :, channel], chroma[far, :, channel], line[channel]
        before = here = (
            np.float32(upper[0]) + (np.float32(lower[0]) - np.float32(upper[0])) * quarter - middle
        )
        for column in range(half):
            nxt = min(column + 1, half - 1)
            after = (
                np.float32(upper[nxt]) + (np.float32(lower[nxt]) - np.float32(upper[nxt])) * quarter - middle
            )
            target[2 * column] = before + (here - before) * even
            target[2 * column + 1] = after + (here - after) * odd
            before, here = here, after


@njit(
    f"void({READ_2D}, {READ_3D}, {WRITE_3D}, float32[::1], boolean)",
    cache=True,
    nogil=True,
    fastmath=True,
)
def _to_rgb(luma: Plane, chroma: Plane, rgb: Plane, yuv: Floats, is_left: bool) -> None:
    offset, light_gain, red_cr, green_cb, green_cr, blue_cb = yuv
    zero, top, half = np.float32(0), np.float32(255), np.float32(0.5)
    line = np.empty((2, luma.shape[1]), np.float32)
    for row in range(luma.shape[0]):
        _chroma_row(chroma, row, is_left, line)
        for column in range(luma.shape[1]):
            light = (np.float32(luma[row, column]) - offset) * light_gain
            u, v = line[0, column], line[1, column]
            rgb[row, column, 0] = np.uint8(min(max(light + red_cr * v, zero), top) + half)
            rgb[row, column, 1] = np.uint8(min(max(light + green_cb * u + green_cr * v, zero), top) + half)
            rgb[row, column, 2] = np.uint8(min(max(light + blue_cb * u, zero), top) + half)


def nv12_to_rgb(luma: Plane, chroma: Plane, rgb: Plane, color: ColorInfo) -> None:
    """Convert a whole picture to RGB; see ``livefusion.ops.reference.convert``."""
    yuv = np.array(YuvToRgb.of(color).values(), np.float32)
    _to_rgb(luma, chroma, rgb, yuv, color.siting is Siting.LEFT)


@njit(f"void({READ_3D}, {WRITE_2D}, float32[::1], float32)", cache=True, nogil=True, fastmath=True)
def _to_luma(rgb: Plane, luma: Plane, weights: Floats, offset: np.float32) -> None:
    start = offset + np.float32(0.5)
    for row in range(luma.shape[0]):
        for column in range(luma.shape[1]):
            r, g, b = rgb[row, column, 0], rgb[row, column, 1], rgb[row, column, 2]
            value = weights[0] * r + weights[1] * g + weights[2] * b + start
            luma[row, column] = np.uint8(min(value, np.float32(255)))


@njit(
    f"void({READ_3D}, {WRITE_3D}, float32[:, ::1], int64, int64)",
    cache=True,
    nogil=True,
    fastmath=True,
)
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
