"""Boxes as the arrays that overlap and assignment are computed on."""

from collections.abc import Sequence

import numpy as np

from livefusion.core.geometry import Box
from livefusion.faces.kalman import Corners


def corners_of(boxes: Sequence[Box]) -> Corners:
    """(n, 4) left, top, right, bottom."""
    return np.array([[box.x, box.y, box.right, box.bottom] for box in boxes], np.float64).reshape(-1, 4)
