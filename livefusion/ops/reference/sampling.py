"""How the references sample planes, in float64."""

from typing import Any

import numpy as np
import numpy.typing as npt

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


def bilinear(plane: npt.NDArray[Any], x: Floats, y: Floats) -> Floats:
    """Sample a plane of shape (h, w) or (h, w, c) at (x, y); the border is replicated outwards."""
    height, width = plane.shape[:2]
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    right, bottom = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    across, down = x - left, y - top
    if plane.ndim == 3:
        across, down = across[..., None], down[..., None]
    values = plane.astype(np.float64)
    upper = values[top, left] * (1 - across) + values[top, right] * across
    lower = values[bottom, left] * (1 - across) + values[bottom, right] * across
    sampled: Floats = upper * (1 - down) + lower * down
    return sampled


def chroma_at(chroma: Plane, x: Floats, y: Floats, origin: tuple[float, float]) -> Floats:
    """(Cb, Cr) less 128, last axis, at luma pixel coordinates (x, y)."""
    sampled = bilinear(chroma, (x - origin[0]) / 2, (y - origin[1]) / 2)
    return sampled - 128.0


def _axis_weights(source: int, target: int) -> Floats:
    """(target, source) weights of a resize along one axis: area average to shrink, bilinear to enlarge."""
    scale = source / target
    weights = np.zeros((target, source))
    for i in range(target):
        if scale >= 1:
            edges = np.arange(source)
            overlap = np.minimum(edges + 1, (i + 1) * scale) - np.maximum(edges, i * scale)
            weights[i] = np.maximum(overlap, 0) / scale
        else:
            position = min(max((i + 0.5) * scale - 0.5, 0), source - 1)
            low = int(position)
            weights[i, low] += 1 - (position - low)
            weights[i, min(low + 1, source - 1)] += position - low
    return weights


def resized(plane: Plane, height: int, width: int) -> Floats:
    """A plane of shape (h, w) or (h, w, c) in another size, the areas coinciding."""
    down = _axis_weights(plane.shape[0], height)
    across = _axis_weights(plane.shape[1], width)
    narrow = np.tensordot(down, plane.astype(np.float64), axes=(1, 0))
    return np.moveaxis(np.tensordot(narrow, across, axes=(1, 1)), -1, 1)


def to_byte(values: Floats) -> Plane:
    """Round half up and saturate to 0–255."""
    return np.clip(np.floor(values + 0.5), 0, 255).astype(np.uint8)
