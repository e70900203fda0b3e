"""Where what a network found in front of a face ends: told by the colours on both sides of the edge."""

from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine
from livefusion.ops.reference.sampling import bilinear

RADIUS = 8
"""Colours are taken from a square of 2 × 8 + 1 pixels, as far as it lies in the crop."""
LEAST_WEIGHT = 34.0
"""The square must hold so many sure pixels of either side, or it is believed less."""
NOISE = 400 / 255**2
"""Squared distance of the two colours at which they are believed half."""
LEAST_DOUBT = 1 / 16
"""What is surer than that, as 4 p (1 − p), stays as it was found: belief begins at 0 there."""
TINY = 0.03
"""Keeps quotients finite where there is nothing of one of the two."""

Floats = npt.NDArray[np.float32]


def occlusion_matte(*, found: Floats, image: Floats, matte: Floats) -> None:
    """Move what was found with doubt to the side that its colour is on.

    ``found`` and ``matte`` are (S, S) float32, the share of each pixel of a crop that something in front of
    a face covers, in [0, 1]; what is found is clipped, and 0 where it is no number. ``image`` (3, S, S)
    float32 is the crop, RGB in [0, 1].

    With p for what is found, the colour in front is the mean of the square round a pixel weighted by p², that
    of the face the mean weighted by (1 − p)². ``matte`` gets p + (a − p) w: a is how far the pixel's own
    colour lies on the way from the face's to the other, clipped to [0, 1], and w how far that is believed:
    what 4 p (1 − p) is above ``LEAST_DOUBT``, as a share of the most that it can be, times d² / (d² +
    ``NOISE``) with d for the distance of the two colours, times the smaller sum of weights over
    ``LEAST_WEIGHT``, at most 1.
    """
    p = np.clip(np.nan_to_num(found.astype(np.float64), nan=0.0), 0, 1)
    colours = image.astype(np.float64)
    front, face = p * p, (1 - p) ** 2
    in_front, of_face = _sum_round(front), _sum_round(face)
    ahead = np.stack([_sum_round(front * plane) for plane in colours]) / (in_front + TINY)
    behind = np.stack([_sum_round(face * plane) for plane in colours]) / (of_face + TINY)
    way = ahead - behind
    squares = (way * way).sum(axis=0)
    along = np.clip(((colours - behind) * way).sum(axis=0) / (squares + 1e-6), 0, 1)
    doubt = np.maximum(4 * p * (1 - p) - LEAST_DOUBT, 0) / (1 - LEAST_DOUBT)
    enough = np.minimum(np.minimum(in_front, of_face) / LEAST_WEIGHT, 1)
    believed = doubt * enough * squares / (squares + NOISE)
    matte[...] = p + (along - p) * believed


def bare_of_tensor(
    *,
    tensor: npt.NDArray[np.floating],
    to_tensor: Affine,
    low: float,
    gain: float,
    classes: int,
    matte: Floats,
) -> None:
    """Raise a matte to what another network sees in front of the face: nothing that it hides gets bare.

    ``matte`` (S, S) float32 is as ``occlusion_matte`` leaves it; ``to_tensor`` maps its pixels to those of
    ``tensor`` (C, H, W) float32 or float16, which is sampled bilinearly with the border replicated. Of a
    single map the face is bare by (value − ``low``) · ``gain``, clipped to [0, 1]. Of several, which are
    classes, it is bare by the weights of those of the four pixels whose largest value, the first of equal
    ones, is of a class whose bit is set in ``classes``. What is no number counts as bare. ``matte`` gets
    max(matte, 1 − bare).
    """
    y, x = np.mgrid[0 : matte.shape[0], 0 : matte.shape[1]].astype(np.float64)
    forth: Any = to_tensor.matrix
    u = forth[0, 0] * x + forth[0, 1] * y + forth[0, 2]
    v = forth[1, 0] * x + forth[1, 1] * y + forth[1, 2]
    if len(tensor) == 1:
        values = (bilinear(tensor[0].astype(np.float64), u, v) - low) * gain
        bare = np.where(np.isnan(values), 1, np.clip(values, 0, 1))
    else:
        wanted = np.array([classes >> index & 1 for index in range(len(tensor))], np.float64)
        known = wanted[tensor.argmax(axis=0)]
        known[np.isnan(tensor).any(axis=0)] = 1
        bare = bilinear(known, u, v)
    matte[...] = np.maximum(matte, 1 - bare)


def _sum_round(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sums over the square round each pixel, 0 beyond the crop."""
    for axis in (0, 1):
        moved = np.moveaxis(values, axis, 0)
        size = len(moved)
        sums = np.concatenate([np.zeros_like(moved[:1]), np.cumsum(moved, axis=0)])
        at = np.arange(size)
        last, first = np.minimum(at + RADIUS + 1, size), np.maximum(at - RADIUS, 0)
        values = np.moveaxis(sums[last] - sums[first], 0, axis)
    return values
