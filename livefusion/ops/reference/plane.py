"""Fill and shift the values of a rectangle of a picture."""

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.paste import check_even
from livefusion.ops.reference.sampling import Plane

BLOCK = 8
"""Side of the blocks that ``add_plane`` looks at, in pixels."""


def fill_region(
    luma: Plane, chroma: Plane, *, x: int, y: int, width: int, height: int, yuv: tuple[int, int, int]
) -> None:
    """Set a rectangle of NV12 to one colour (Y, Cb, Cr), in place.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8; the four numbers are even (``ValueError`` if not),
    and what lies outside the picture is left out.
    """
    check_even(x, y, width, height)
    left, top, right, bottom = max(0, x), max(0, y), max(0, x + width), max(0, y + height)
    luma[top:bottom, left:right] = yuv[0]
    chroma[top // 2 : bottom // 2, left // 2 : right // 2] = yuv[1:]


def add_plane(luma: Plane, delta: npt.NDArray[np.int8], gains: npt.NDArray[np.uint8]) -> None:
    """Add ``delta`` to the luma in place, in each block of 8×8 as strongly as the block can hide it.

    ``luma`` is (h, w) uint8, ``delta`` (h, w) int8 in 1/16 of a level. ``gains`` (16, 16) uint8 in 1/16: what
    a block gets is at row ``min((high - low) // 4, 15)`` and column ``(high + low) // 32`` of its lowest and
    highest value before. Blocks begin at the top left; those at the right and the bottom may be smaller. A
    sum is rounded half up and saturates at 0 and 255.
    """
    height, width = luma.shape
    for top in range(0, height, BLOCK):
        for left in range(0, width, BLOCK):
            place = slice(top, top + BLOCK), slice(left, left + BLOCK)
            block = luma[place].astype(np.int64)
            low, high = block.min(), block.max()
            gain = int(gains[min((high - low) // 4, 15), (high + low) // 32])
            luma[place] = np.clip(block + ((delta[place].astype(np.int64) * gain + 128) >> 8), 0, 255)
