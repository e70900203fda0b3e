"""NV12 turned and mirrored, as a display matrix asks for it."""

import cv2
import numpy as np

from livefusion.ops.cpu.scratch import Plane
from livefusion.ops.reference.turn import check_turned

_FLIP_CODES = {(True, False): 1, (False, True): 0, (True, True): -1}


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
    """Turn a picture into another; see ``livefusion.ops.reference.turn``."""
    code = _FLIP_CODES.get((mirror_x, mirror_y))
    for plane, out in ((luma, out_luma), (chroma, out_chroma)):
        check_turned(plane, out, transpose=transpose)
        if transpose:
            cv2.transpose(plane, out)
        if code is not None:
            cv2.flip(out if transpose else plane, code, out)
        elif not transpose:
            np.copyto(out, plane)
