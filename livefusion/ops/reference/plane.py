"""Fill and shift the values of a rectangle of a picture."""

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.paste import check_even
from livefusion.ops.reference.sampling import Plane


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


def add_plane(luma: Plane, delta: npt.NDArray[np.int8], x: int, y: int) -> None:
    """Add ``delta`` to a rectangle of the luma, in place, saturating at 0 and 255.

    ``luma`` is (h, w) uint8 and ``delta`` (H, W) int8; what lies outside the picture is left out.
    """
    left, top = max(0, -x), max(0, -y)
    delta = delta[top : max(0, luma.shape[0] - y), left : max(0, luma.shape[1] - x)]
    x, y = x + left, y + top
    target = luma[y : y + delta.shape[0], x : x + delta.shape[1]]
    target[:] = np.clip(target.astype(np.int64) + delta, 0, 255)
