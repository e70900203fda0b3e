"""What of a picture can be its watermark: what its surroundings do not explain, where they are calm.

The picture is the noise in which the mark is looked for, hundreds of times as strong. Two guesses of what a
cell would be without the mark are subtracted: the mean of those around it, which is best for what does not
move, and a prediction from 24 neighbours that is fitted to this very picture, which is best for what a codec
has smoothed (moving texture at 1 Mbit/s: z 3 and 11 for a window of two seconds). What is left counts by the
calm of where it is: text beside white paper, or a room behind a face, would drown the rest (z 20 and 48 for
a face before bookshelves). No sign of any key is used: for a wrong one z stays normal.
"""

import cv2
import numpy as np
import numpy.typing as npt

Cells = npt.NDArray[np.float32]

_CLIP, _EDGE = 3.0, 6.0
"""Levels: what differs more counts as so much in the sum, and in the unrest of its surroundings."""
_REACH, _UNREST = 2, 5
"""Cells: how far the neighbours are that predict; side of the square whose unrest weighs."""
_CALM = 0.25
"""Squared levels: unrest below which it matters no more."""
_FIT_UNREST = 4.0
_RIDGE, _LEAST_RIDGE = 1e-3, 1e-6
_LEAST_PER_COEFFICIENT = 40
"""Cells: with fewer, the prediction would explain the mark as well."""
_AROUND = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]], np.float32) / 12
_BORDER = cv2.BORDER_REFLECT


def whitened(cells: Cells) -> Cells:
    """(rows, columns) of a length of 2 at most, from the mean luma of each cell in levels."""
    relief = cells - cv2.filter2D(cells, -1, _AROUND, borderType=_BORDER)
    near = _unit(_weighed(relief))
    if cells.size < _LEAST_PER_COEFFICIENT * ((2 * _REACH + 1) ** 2 - 1):
        return near
    return near + _unit(_weighed(_unpredicted(cells, relief)))


def _weighed(rest: Cells) -> Cells:
    unrest = _mean_square(np.clip(rest, -_EDGE, _EDGE))
    return np.asarray(np.clip(rest, -_CLIP, _CLIP) / (_CALM + unrest), np.float32)


def _mean_square(values: Cells) -> Cells:
    return np.asarray(cv2.blur(values * values, (_UNREST, _UNREST), borderType=_BORDER), np.float32)


def _unit(values: Cells) -> Cells:
    return values / max(float(np.linalg.norm(values)), 1e-9)


def _unpredicted(cells: Cells, relief: Cells) -> Cells:
    """What the neighbours do not say of each cell, by weighted least squares with a little ridge."""
    level = float(cells.mean())
    neighbours, target = _neighbours(cells - level), (cells - level).reshape(-1)
    weighed = neighbours / (_FIT_UNREST + _mean_square(relief).reshape(-1))
    square = weighed @ neighbours.T
    ridge = _RIDGE * float(np.trace(square)) / len(square) + _LEAST_RIDGE
    square += np.eye(len(square), dtype=np.float32) * np.float32(ridge)
    coefficients = np.linalg.solve(square, weighed @ target)
    return np.asarray((target - coefficients @ neighbours).reshape(cells.shape), np.float32)


def _neighbours(values: Cells) -> Cells:
    """(24, cells): those within two rows and columns of each, mirrored at the border."""
    rows, columns = values.shape
    wide = cv2.copyMakeBorder(values, _REACH, _REACH, _REACH, _REACH, _BORDER)
    side = 2 * _REACH + 1
    places = [(down, right) for down in range(side) for right in range(side) if (down, right) != (2, 2)]
    return np.stack([wide[down : down + rows, right : right + columns].reshape(-1) for down, right in places])
