"""Which box of this frame is which box of the last: overlap and the cheapest assignment."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from livefusion.faces.kalman import Corners


class Association(NamedTuple):
    """Pairs of (seen, expected) indices, and the indices of what was seen without being expected."""

    pairs: list[tuple[int, int]]
    unexpected: list[int]


def iou_matrix(first: Corners, second: Corners) -> npt.NDArray[np.float64]:
    """Intersection over union of each of (n, 4) with each of (m, 4) boxes: (n, m), in [0, 1]."""
    a, b = first[:, None], second[None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.prod(np.maximum(sides, 0.0), axis=2)
    union = _area(a) + _area(b) - common
    overlap: npt.NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return overlap


def associate(seen: Corners, expected: Corners, threshold: float) -> Association:
    """Pair seen with expected boxes so that the sum of overlaps is largest (Hungarian method).

    A pair that overlaps by less than ``threshold`` is none. Where every box overlaps one other at most,
    that is the answer and no assignment is solved.
    """
    if not len(seen) or not len(expected):
        return Association([], list(range(len(seen))))
    if len(seen) == 1 and len(expected) == 1:  # most frames: plain numbers take a tenth of the time
        overlaps = _overlap(*seen[0].tolist(), *expected[0].tolist()) >= threshold
        return Association([(0, 0)], []) if overlaps else Association([], [0])
    overlap = iou_matrix(seen, expected)
    near = overlap > threshold
    if near.sum(axis=0).max() == 1 and near.sum(axis=1).max() == 1:
        rows, columns = np.nonzero(near)
    else:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(overlap, maximize=True)
    pairs = [
        (int(row), int(column))
        for row, column in zip(rows, columns, strict=True)
        if overlap[row, column] >= threshold
    ]
    paired = {row for row, _ in pairs}
    return Association(pairs, [row for row in range(len(seen)) if row not in paired])


def _overlap(  # noqa: PLR0917 - two boxes as left, top, right, bottom
    a: float, b: float, c: float, d: float, left: float, top: float, right: float, bottom: float
) -> float:
    """Intersection over union of two boxes."""
    common = max(min(c, right) - max(a, left), 0.0) * max(min(d, bottom) - max(b, top), 0.0)
    union = (c - a) * (d - b) + (right - left) * (bottom - top) - common
    return common / union if union > 0 else 0.0


def _area(boxes: Corners) -> npt.NDArray[np.float64]:
    area: npt.NDArray[np.float64] = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return area
