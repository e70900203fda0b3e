"""NV12 turned and mirrored, as a display matrix asks for it."""

import numpy as np

from livefusion.ops.reference.sampling import Plane


def turn_nv12(
    luma: Plane,
    chroma: Plane,
    out_luma: Plane,
    out_chroma: Plane,
    *,
    transpose: bool = False,
    mirror_x: bool = False,
    mirror_y: bool = False,
) -> None:
    """Swap rows and columns if ``transpose``, then mirror left-right and top-bottom as asked.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8. Their ``out_`` likes have the same sizes, with h
    and w exchanged if transposed (``ValueError`` if not), and overlap them nowhere.
    """
    for plane, out in ((luma, out_luma), (chroma, out_chroma)):
        check_turned(plane, out, transpose=transpose)
        turned = np.swapaxes(plane, 0, 1) if transpose else plane
        turned = turned[:, ::-1] if mirror_x else turned
        out[:] = turned[::-1] if mirror_y else turned


def check_turned(plane: Plane, out: Plane, *, transpose: bool) -> None:
    """``ValueError`` unless ``out`` has the size that the turned plane has."""
    height, width = plane.shape[:2]
    if out.shape[:2] != ((width, height) if transpose else (height, width)):
        raise ValueError(
            f"a plane of {width}x{height} does not fit {out.shape[1]}x{out.shape[0]} when turned"
        )
