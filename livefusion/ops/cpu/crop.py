"""From what a swap network gives to a patch: one pass over the crop; OpenCV samples it for the patch."""

from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.signature import READ_2D, READ_3D, READ_FLOATS_2D, WRITE_3D
from livefusion.ops.reference.crop import LEAST_LEFT
from livefusion.ops.reference.warp import Layout, Order
from livefusion.ops.yuv import CHROMA_ZERO, RgbToYuv

Floats = npt.NDArray[np.float32]
Flag = npt.NDArray[np.int32]

_FLAGS = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP


def crop_of_tensor(
    *,
    tensor: npt.NDArray[np.floating],
    mask: Plane,
    crop: Plane,
    bad: Flag,
    color: ColorInfo,
    gain: Any = 255.0,
    offset: Any = 0.0,
    layout: Layout = "chw",
    order: Order = "rgb",
    feather: int = 0,
) -> None:
    """Turn what a network gives into Y, Cb, Cr, alpha; contract in ``reference.crop``."""
    values = tensor if tensor.dtype == np.float32 else tensor.astype(np.float32)
    channels = values if layout == "chw" else values.transpose(2, 0, 1)
    side = crop.shape[0]
    small, alpha = scratch("crop mask", *mask.shape[:2]), scratch("crop alpha", side, side)
    cv2.extractChannel(mask, 3, dst=small)
    cv2.resize(small, (side, side), dst=alpha, interpolation=cv2.INTER_LINEAR)
    gains, offsets = np.full(3, gain, np.float32), np.full(3, offset, np.float32)
    if order == "bgr":
        channels, gains, offsets = channels[::-1], gains[::-1].copy(), offsets[::-1].copy()
    red, green, blue = channels
    bad[0] += _convert(red, green, blue, gains, offsets, _weights(color), alpha, _ring(side, feather), crop)


def limit_alpha(*, limit: npt.NDArray[np.floating], crop: Plane, bad: Flag) -> None:
    """Multiply the alpha of a crop by a limit; contract in ``reference.crop``."""
    known, before, after = _limit(limit if limit.dtype == np.float32 else limit.astype(np.float32), crop)
    if not known or after < LEAST_LEFT * before:
        bad[0] += 1


def patch_of_crop(*, crop: Plane, bad: Flag, to_crop: Affine, patch: Plane) -> None:
    """Sample a crop for every pixel of a patch; contract in ``reference.crop``."""
    if bad[0] != 0:
        return
    height, width = patch.shape[:2]
    cv2.warpAffine(
        crop, to_crop.matrix, (width, height), dst=patch, flags=_FLAGS, borderMode=cv2.BORDER_CONSTANT
    )


def refine_patch(*, crop: Plane, bad: Flag, to_crop: Affine, share: float, patch: Plane) -> None:
    """Bring the colours of a patch towards those of a crop; contract in ``reference.crop``."""
    if bad[0] != 0:
        return
    height, width = patch.shape[:2]
    sampled = scratch("refined", height, width, 4)
    cv2.warpAffine(
        crop, to_crop.matrix, (width, height), dst=sampled, flags=_FLAGS, borderMode=cv2.BORDER_REPLICATE
    )
    _move(sampled, share / 255, patch)


@lru_cache(maxsize=8)
def _weights(color: ColorInfo) -> Floats:
    """(3, 4): weights of R, G, B and the sum's start, with the half that rounds, for Y, Cb and Cr."""
    numbers = RgbToYuv.of(color)
    half = 0.5
    return np.array(
        [
            [*numbers.luma, numbers.luma_offset + half],
            [*numbers.cb, CHROMA_ZERO + half],
            [*numbers.cr, CHROMA_ZERO + half],
        ],
        np.float32,
    )


@lru_cache(maxsize=8)
def _ring(side: int, feather: int) -> Floats:
    """(side,): how much the alpha keeps so far from one edge."""
    place = np.arange(side, dtype=np.float32)
    within = np.minimum(place, side - 1 - place)
    return np.clip(within / feather, 0, 1).astype(np.float32) if feather > 0 else np.ones(side, np.float32)


_READ_1D = "Array(float32, 1, 'A', readonly=True)"


@njit(
    f"int64({READ_FLOATS_2D}, {READ_FLOATS_2D}, {READ_FLOATS_2D}, {_READ_1D}, {_READ_1D}, {READ_FLOATS_2D},"
    f"{READ_2D}, {_READ_1D}, {WRITE_3D})",
    cache=True,
    nogil=True,
)
def _convert(  # noqa: PLR0917 numba takes no keyword-only arguments
    red: Floats,
    green: Floats,
    blue: Floats,
    gain: Floats,
    offset: Floats,
    weights: Floats,
    alpha: Plane,
    ring: Floats,
    crop: Plane,
) -> int:
    """``crop_of_tensor`` for float32 channels; gives the number of pixels that hold no numbers."""
    zero, top, half = np.float32(0), np.float32(255), np.float32(0.5)
    bad = 0
    for y in range(crop.shape[0]):
        for x in range(crop.shape[1]):
            r = red[y, x] * gain[0] + offset[0]
            g = green[y, x] * gain[1] + offset[1]
            b = blue[y, x] * gain[2] + offset[2]
            if not (abs(r) < np.inf and abs(g) < np.inf and abs(b) < np.inf):
                bad += 1
                r = g = b = zero
            r, g, b = min(max(r, zero), top), min(max(g, zero), top), min(max(b, zero), top)
            for channel in range(3):
                value = weights[channel, 0] * r + weights[channel, 1] * g + weights[channel, 2] * b
                crop[y, x, channel] = np.uint8(min(max(value + weights[channel, 3], zero), top))
            crop[y, x, 3] = np.uint8(np.float32(alpha[y, x]) * min(ring[y], ring[x]) + half)
    return bad


@njit(f"Tuple((boolean, int64, int64))({READ_FLOATS_2D}, {WRITE_3D})", cache=True, nogil=True)
def _limit(limit: Floats, crop: Plane) -> tuple[bool, int, int]:
    """``limit_alpha`` in float32: whether all are numbers, and the sums of the alphas before and after."""
    known, before, after = True, 0, 0
    for y in range(crop.shape[0]):
        for x in range(crop.shape[1]):
            share = limit[y, x]
            if np.isnan(share):
                known, share = False, np.float32(1)
            alpha = np.float32(crop[y, x, 3])
            before += np.int64(crop[y, x, 3])
            left = np.uint8(alpha * min(max(share, np.float32(0)), np.float32(1)) + np.float32(0.5))
            crop[y, x, 3] = left
            after += np.int64(left)
    return known, before, after


@njit(f"void({READ_3D}, float64, {WRITE_3D})", cache=True, nogil=True, fastmath=True)
def _move(sampled: Plane, share: float, patch: Plane) -> None:
    """Move colours towards the sampled ones by ``share`` times their alpha."""
    part, half = np.float32(share), np.float32(0.5)
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            way = part * np.float32(sampled[y, x, 3])
            for channel in range(3):
                old = np.float32(patch[y, x, channel])
                new = old + (np.float32(sampled[y, x, channel]) - old) * way
                patch[y, x, channel] = np.uint8(new + half)
