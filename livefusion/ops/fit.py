"""How a picture fits into another size: pure geometry, shared by those who shrink and those who map back."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from livefusion.core.geometry import Affine, Region, Size

# How many rows at least go into each row of a letterbox: enough for a detector to find what it finds in the
# mean of all rows. Of 1477 faces in photos at 720p to 2160p it lost 11 and gained 19, all near its threshold,
# and scores moved by 0.010 (rms); by 0.018 with one row of luma. Cameras have blurred colour beforehand.
_LEAST_LUMA, _LEAST_CHROMA = 2, 1


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a plane at equal distances: the first, from one to the next, and how many."""

    first: int
    step: int
    count: int

    @property
    def slice(self) -> slice:
        """What picks them from an array."""
        return slice(self.first, self.first + self.step * self.count, self.step)


def letterbox_scale(size: Size, out_size: Size) -> float:
    """The largest factor by which a picture of ``size`` still fits into ``out_size``."""
    return min(out_size.width / size.width, out_size.height / size.height)


@lru_cache(maxsize=64)
def letterbox_size(size: Size, out_size: Size) -> Size:
    """The part of ``out_size``, from its top-left corner, that ``letterbox_nv12`` fills with the picture."""
    scale = letterbox_scale(size, out_size)
    width, height = round(size.width * scale), round(size.height * scale)
    return Size(min(max(width, 1), out_size.width), min(max(height, 1), out_size.height))


@lru_cache(maxsize=64)
def letterbox_rows(luma_rows: int, chroma_rows: int, out_rows: int) -> tuple[Rows, Rows]:
    """The rows of luma and chroma that ``letterbox_nv12`` reads to make ``out_rows`` of them.

    Every n-th, where n is the largest number for which each output row still gets two of luma and one of
    chroma: of 1080 rows made 180 every third. They lie in the middle of the plane, to half a row, and each
    stands for the n rows around it; fewer than n are left over in all, at the top and at the bottom.
    """
    return _spread(luma_rows, out_rows * _LEAST_LUMA), _spread(chroma_rows, out_rows * _LEAST_CHROMA)


def _spread(rows: int, least: int) -> Rows:
    step = max(1, rows // least)
    count = rows // step
    return Rows((rows - 1 - step * (count - 1)) // 2, step, count)


def letterbox_affine(size: Size, out_size: Size) -> Affine:
    """The exact map of ``letterbox_nv12`` from picture to output pixels: it heeds all that is rounded.

    The *areas* coincide, across that of the picture and down that for which the rows of luma stand that are
    read, so with integer pixel centres x' = (x + ½)·s − ½. Its ends are those of the picture to a quarter of
    an output pixel.
    """
    inner = letterbox_size(size, out_size)
    rows, _ = letterbox_rows(size.height, size.height // 2, inner.height)
    sx, sy = inner.width / size.width, inner.height / (rows.step * rows.count)
    return Affine(np.array([[sx, 0.0, (sx - 1) / 2], [0.0, sy, (rows.step / 2 - rows.first) * sy - 0.5]]))


def centred_region(size: Size, out_size: Size) -> Region:
    """The largest even region in the middle of an even ``out_size`` with the proportions of ``size``."""
    inner = letterbox_size(size, out_size)
    width, height = max(2, inner.width & ~1), max(2, inner.height & ~1)
    return Region((out_size.width - width) // 4 * 2, (out_size.height - height) // 4 * 2, width, height)
