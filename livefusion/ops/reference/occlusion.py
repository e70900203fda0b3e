"""What is in front of a face: remembered over time in the crop of a network, and cut out of a new face."""

from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine
from livefusion.ops.reference.sampling import Plane, bilinear

NONE, ALL = 64, 191
"""Levels of ``cover`` up to which nothing is in front, and from which all is hidden; between, a ramp."""
MOST_SIDE = 256
"""The largest side of a crop, whose rows and columns are counted in bytes."""
DOUBTED = 1.4
"""The share that is taken for an error, in shares that may be kept at most: nothing is kept then."""


def occlusion_track(
    *,
    found: npt.NDArray[np.float32],
    patch: Plane,
    to_crop: Affine,
    outline: npt.NDArray[np.uint8],
    rise: float,
    fall: float,
    band: float,
    belief: npt.NDArray[np.float32],
    cover: Plane,
    share: npt.NDArray[np.float32],
) -> None:
    """Take what a network found in front of a face into what is believed, and weigh it.

    ``found``, ``belief`` (both float32, in [0, 1]) and ``cover`` (uint8) are (S, S), in the pixels of a crop
    to which ``to_crop`` maps those of ``patch``, (h, w, 4) uint8 Y, Cb, Cr, alpha. What is found is clipped,
    and 0 where it is no number. ``outline`` (S, 3) uint8 has for each row a row, a first and a last column of
    the crop: beyond these columns counts what was found in them, in that row.

    ``belief`` moves towards what is found, by the share ``rise`` where that is more and ``fall`` where it is
    less; but it stays where that is no more than ``band`` away, and else aims ``band`` short of it: so it
    follows no flicker. ``cover`` gets 255 × ``belief``, rounded. ``share`` (1,) float32 gets how much
    of the patch is hidden: the mean of ``hidden`` over the crop, weighted by the patch's alpha at the nearest
    pixel to each of the crop's, 0 outside the patch; 0 for a patch that is all transparent.
    ``ValueError`` if the crop is larger than ``MOST_SIDE``.
    """
    check_side(cover)
    rows, first, last = outline.T.astype(int)
    columns = np.clip(np.arange(found.shape[1]), first[:, None], last[:, None])
    now = np.clip(np.nan_to_num(found[rows[:, None], columns].astype(np.float64), nan=0.0), 0, 1)
    old = belief.astype(np.float64)
    target = np.clip(old, now - band, now + band)
    belief[...] = old + (target - old) * np.where(target > old, rise, fall)
    cover[...] = np.floor(255 * belief.astype(np.float64) + 0.5)
    height, width = cover.shape
    back: Any = to_crop.inverse().matrix
    y, x = np.mgrid[0:height, 0:width]
    column = np.floor(back[0, 0] * x + back[0, 1] * y + back[0, 2] + 0.5)
    row = np.floor(back[1, 0] * x + back[1, 1] * y + back[1, 2] + 0.5)
    inside = (column >= 0) & (column < patch.shape[1]) & (row >= 0) & (row < patch.shape[0])
    alpha = np.zeros((height, width))
    alpha[inside] = patch[row[inside].astype(int), column[inside].astype(int), 3]
    share[0] = (alpha * hidden(cover)).sum() / max(alpha.sum(), 1.0)


def occlude(
    *, cover: Plane, share: npt.NDArray[np.float32], to_crop: Affine, most: float, patch: Plane
) -> None:
    """Make a patch transparent where something is in front of the face, in place.

    Arguments are as ``occlusion_track`` has them and leaves them; ``most`` is the largest share of the patch
    that may be kept out of it. Each alpha is multiplied by 1 − ``hidden`` × ``credit`` of ``cover``, sampled
    bilinearly with the border replicated, and rounded to nearest. A share of 0 changes nothing.
    """
    trust = credit(float(share[0]), most)
    if trust == 0 or share[0] == 0:
        return
    y, x = np.mgrid[0 : patch.shape[0], 0 : patch.shape[1]].astype(np.float64)
    forth: Any = to_crop.matrix
    u = forth[0, 0] * x + forth[0, 1] * y + forth[0, 2]
    v = forth[1, 0] * x + forth[1, 1] * y + forth[1, 2]
    keep = 1 - trust * hidden(bilinear(cover, u, v))
    patch[..., 3] = np.floor(patch[..., 3] * keep + 0.5)


def check_side(cover: npt.NDArray[Any]) -> None:
    """``ValueError`` unless rows and columns of the crop fit a byte."""
    if max(cover.shape) > MOST_SIDE:
        raise ValueError(f"a crop of {cover.shape} has more than {MOST_SIDE} pixels a side")


def hidden(cover: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """How much of the face levels of ``cover`` hide, in [0, 1]."""
    ramp: npt.NDArray[np.float64] = np.clip((cover.astype(np.float64) - NONE) / (ALL - NONE), 0, 1)
    return ramp


def credit(share: float, most: float) -> float:
    """How far a share of the face that is said to be hidden is believed, in [0, 1].

    All of it up to ``most``, nothing from ``DOUBTED`` times that on. The product with the share is never more
    than ``most``: what is kept is the camera's, and a network that errs must not show the face behind.
    """
    return min(max((DOUBTED - share / most) / (DOUBTED - 1), 0.0), 1.0) if most > 0 else 0.0
