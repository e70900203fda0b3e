"""Resize planes: area average to shrink, bilinear to enlarge, each axis by itself."""

import cv2

from livefusion.ops.cpu.scratch import Plane, scratch


def resize(plane: Plane, out: Plane) -> None:
    """Resize a (h, w) or (h, w, 2) plane into ``out``, the areas coinciding."""
    height, width = out.shape[:2]
    if height <= plane.shape[0] and width <= plane.shape[1]:
        cv2.resize(plane, (width, height), dst=out, interpolation=cv2.INTER_AREA)
    elif height >= plane.shape[0] and width >= plane.shape[1]:
        cv2.resize(plane, (width, height), dst=out, interpolation=cv2.INTER_LINEAR_EXACT)
    else:  # OpenCV has one method for both axes: shrink the one first, then enlarge the other
        middle = min(height, plane.shape[0]), min(width, plane.shape[1])
        between = scratch("resize", *middle, *plane.shape[2:])
        resize(plane, between)
        resize(between, out)
