"""Soften the edge of a patch."""

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

MAX_RADIUS = 1000
"""The largest radius for which sums fit 32 bits."""


def mask_feather(*, patch: npt.NDArray[np.uint8], radius: int) -> None:
    """Soften the alpha of a (h, w, 4) uint8 patch inward, in place.

    Each alpha becomes the mean over the box of ``2·radius + 1`` pixels a side around it, rounded half up,
    where that is less: no pixel shows more than before. Outside the patch alpha counts as 0. Radius 0
    changes nothing. ``ValueError`` unless ``radius`` lies in 0–``MAX_RADIUS``.
    """
    check_radius(radius)
    alpha = patch[..., 3]
    side = 2 * radius + 1
    columns = sliding_window_view(np.pad(alpha.astype(np.int64), radius), side, axis=0).sum(axis=-1)
    boxes = sliding_window_view(columns, side, axis=1).sum(axis=-1)
    area = side * side
    alpha[:] = np.minimum(alpha, (2 * boxes + area) // (2 * area))


def check_radius(radius: int) -> None:
    """``ValueError`` unless sums over boxes of this radius fit the bodies' integers."""
    if not 0 <= radius <= MAX_RADIUS:
        raise ValueError(f"a feather of radius {radius} is not within 0–{MAX_RADIUS}")
