"""NV12 to RGB and back, whole pictures."""

import numpy as np

from livefusion.core.color import ColorInfo, Siting
from livefusion.ops.reference.sampling import Floats, Plane, chroma_at, to_byte
from livefusion.ops.yuv import RgbToYuv, YuvToRgb, chroma_origin


def yuv_to_rgb(luma: Floats, chroma: Floats, color: ColorInfo) -> Floats:
    """(h, w) Y and (h, w, 2) Cb, Cr less 128 to (h, w, 3) R, G, B within 0–255."""
    k = YuvToRgb.of(color)
    light = (luma - k.luma_offset) * k.luma_gain
    cb, cr = chroma[..., 0], chroma[..., 1]
    rgb = np.stack(
        [light + k.red_cr * cr, light + k.green_cb * cb + k.green_cr * cr, light + k.blue_cb * cb], axis=-1
    )
    return np.clip(rgb, 0.0, 255.0)


def nv12_to_rgb(luma: Plane, chroma: Plane, rgb: Plane, color: ColorInfo) -> None:
    """Convert a whole picture to RGB.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8, h and w even; ``rgb`` is (h, w, 3) uint8.
    Chroma is interpolated bilinearly at the centre of each luma pixel, as ``color.siting`` says where its
    samples lie, the border being replicated. Values are rounded to the nearest and saturated.
    """
    y, x = np.mgrid[0 : luma.shape[0], 0 : luma.shape[1]].astype(np.float64)
    colours = chroma_at(chroma, x, y, chroma_origin(color.siting))
    rgb[:] = to_byte(yuv_to_rgb(luma.astype(np.float64), colours, color))


def _at_chroma_samples(rgb: Plane, siting: Siting) -> Floats:
    """(h/2, w/2, 3) mean colours around the chroma samples."""
    pairs = (rgb[0::2].astype(np.float64) + rgb[1::2]) / 2
    if siting is Siting.CENTRE:
        return (pairs[:, 0::2] + pairs[:, 1::2]) / 2
    before = np.concatenate([pairs[:, :1], pairs[:, 1:-1:2]], axis=1)
    return (before + 2 * pairs[:, 0::2] + pairs[:, 1::2]) / 4


def rgb_to_nv12(rgb: Plane, luma: Plane, chroma: Plane, color: ColorInfo) -> None:
    """Convert a whole RGB picture to NV12.

    ``rgb`` is (h, w, 3) uint8, h and w even; ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8. A chroma
    sample is the mean of its 2×2 pixels when it lies in their centre; when it lies on the left pair, it is
    that of the columns before, at and after it, weighted 1 : 2 : 1, the first column being replicated.
    Values are rounded to the nearest and saturated.
    """
    k = RgbToYuv.of(color)
    luma[:] = to_byte(rgb.astype(np.float64) @ np.array(k.luma) + k.luma_offset)
    colours = _at_chroma_samples(rgb, color.siting)
    chroma[:] = to_byte(colours @ np.array([k.cb, k.cr]).T + 128.0)
