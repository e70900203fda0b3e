"""How a picture fits into another size: pure geometry, shared by those who shrink and those who map back."""

from functools import lru_cache

import numpy as np

from livefusion.core.geometry import Affine, Region, Size


def letterbox_scale(size: Size, out_size: Size) -> float:
    """The largest factor by which a picture of ``size`` still fits into ``out_size``."""
    return min(out_size.width / size.width, out_size.height / size.height)


@lru_cache(maxsize=64)
def letterbox_size(size: Size, out_size: Size) -> Size:
    """The part of ``out_size``, from its top-left corner, that ``letterbox_nv12`` fills with the picture."""
    scale = letterbox_scale(size, out_size)
    width, height = round(size.width * scale), round(size.height * scale)
    return Size(min(max(width, 1), out_size.width), min(max(height, 1), out_size.height))


def letterbox_affine(size: Size, out_size: Size) -> Affine:
    """The exact map of ``letterbox_nv12`` from picture to output pixels; it heeds the rounding of the size.

    The *areas* of the pictures coincide, so with integer pixel centres x' = (x + ½)·s − ½.
    """
    inner = letterbox_size(size, out_size)
    sx, sy = inner.width / size.width, inner.height / size.height
    return Affine(np.array([[sx, 0.0, (sx - 1) / 2], [0.0, sy, (sy - 1) / 2]]))


def centred_region(size: Size, out_size: Size) -> Region:
    """The largest even region in the middle of an even ``out_size`` with the proportions of ``size``."""
    inner = letterbox_size(size, out_size)
    width, height = max(2, inner.width & ~1), max(2, inner.height & ~1)
    return Region((out_size.width - width) // 4 * 2, (out_size.height - height) // 4 * 2, width, height)
