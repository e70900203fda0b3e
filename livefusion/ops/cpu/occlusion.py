"""What is in front of a face: one pass over the crop, and one over the patch where anything is there."""

import math

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.geometry import Affine, Box, Size
from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.signature import READ_2D, READ_3D, READ_FLOATS_2D, WRITE_2D, WRITE_3D
from livefusion.ops.reference.occlusion import ALL, NONE, check_side, credit

Floats = npt.NDArray[np.float32]

_FLAGS = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
_RAMP = ALL - NONE


def occlusion_track(
    *,
    found: Floats,
    patch: Plane,
    to_crop: Affine,
    outline: Plane,
    rise: float,
    fall: float,
    band: float,
    belief: Floats,
    cover: Plane,
    share: Floats,
) -> None:
    """Take what was found into what is believed, and weigh it; contract in ``reference.occlusion``."""
    check_side(cover)
    rates = np.array([rise, fall, band], np.float32)
    share[0] = _track(found, patch, to_crop.inverse().matrix, rates, outline, belief, cover)


def occlude(*, cover: Plane, share: Floats, to_crop: Affine, most: float, patch: Plane) -> None:
    """Make a patch transparent where something is before the face; contract in ``reference.occlusion``."""
    trust = credit(float(share[0]), most)
    if trust == 0 or share[0] == 0:
        return
    columns, rows = _hidden_part(cover, to_crop, patch)
    width, height = columns.stop - columns.start, rows.stop - rows.start
    if width <= 0 or height <= 0:
        return
    sampled = scratch("occlude", height, width)
    forth = to_crop.after(Affine([[1, 0, columns.start], [0, 1, rows.start]])).matrix
    cv2.warpAffine(cover, forth, (width, height), sampled, flags=_FLAGS, borderMode=cv2.BORDER_REPLICATE)
    _cut(patch[rows, columns], sampled, trust)


def _hidden_part(cover: Plane, to_crop: Affine, patch: Plane) -> tuple[slice, slice]:
    """Columns and rows of the patch beyond which nothing is hidden: mostly a small part of it."""
    x, y, width, height = cv2.boundingRect((cover > NONE).view(np.uint8))
    # Up to the next sample of the crop that hides nothing, or to infinity where the border is replicated.
    far = 4.0 * sum(patch.shape[:2]) * max(1.0, float(np.abs(to_crop.matrix).max()))
    left, top = x - 1 if x > 0 else -far, y - 1 if y > 0 else -far
    right = x + width if x + width < cover.shape[1] else far
    bottom = y + height if y + height < cover.shape[0] else far
    corners = np.array([[left, top], [right, top], [left, bottom], [right, bottom]])
    box = Box.around(to_crop.inverse()(corners)).clipped(Size(patch.shape[1], patch.shape[0]))
    return (
        slice(math.floor(box.x), math.ceil(box.right)),
        slice(math.floor(box.y), math.ceil(box.bottom)),
    )


@njit(
    f"float32({READ_FLOATS_2D}, {READ_3D}, Array(float64, 2, 'C', readonly=True), float32[::1],"
    f"{READ_2D}, float32[:, :], {WRITE_2D})",
    cache=True,
    nogil=True,
)
def _track(  # noqa: PLR0917 numba takes no keyword-only arguments
    found: Floats,
    patch: Plane,
    back: npt.NDArray[np.float64],
    rates: Floats,
    outline: Plane,
    belief: Floats,
    cover: Plane,
) -> np.float32:
    """``occlusion_track`` without keywords; gives the share."""
    rise, fall, band = rates[0], rates[1], rates[2]
    zero, one = np.float32(0), np.float32(1)
    height, width = patch.shape[:2]
    covered, whole = np.int64(0), np.int64(0)
    for row in range(belief.shape[0]):
        x, y = back[0, 1] * row + back[0, 2] + 0.5, back[1, 1] * row + back[1, 2] + 0.5
        looked, first, last = int(outline[row, 0]), int(outline[row, 1]), int(outline[row, 2])
        for column in range(belief.shape[1]):
            now = found[looked, min(max(column, first), last)]
            now = min(now, one) if now > zero else zero
            old = belief[row, column]
            target = min(max(old, now - band), now + band)
            old += (target - old) * (rise if target > old else fall)
            belief[row, column] = old
            level = int(np.float32(255) * old + np.float32(0.5))
            cover[row, column] = np.uint8(level)
            i, j = int(np.floor(back[1, 0] * column + y)), int(np.floor(back[0, 0] * column + x))
            if 0 <= i < height and 0 <= j < width:
                alpha = np.int64(patch[i, j, 3])
                whole += alpha
                covered += alpha * min(max(level - NONE, 0), _RAMP)
    return np.float32(covered / (_RAMP * whole)) if whole else zero


@njit(f"void({WRITE_3D}, {READ_2D}, float64)", cache=True, nogil=True, fastmath=True)
def _cut(patch: Plane, sampled: Plane, trust: float) -> None:
    """Take ``trust`` times what the sampled cover hides off the alpha."""
    slope, half = np.float32(trust / _RAMP), np.float32(0.5)
    for row in range(patch.shape[0]):
        for column in range(patch.shape[1]):
            level = int(sampled[row, column]) - NONE
            if level > 0:
                keep = np.float32(1) - slope * np.float32(min(level, _RAMP))
                patch[row, column, 3] = np.uint8(np.float32(patch[row, column, 3]) * keep + half)
