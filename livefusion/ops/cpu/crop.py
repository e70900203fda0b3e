"""From what a swap network gives to a patch: one pass over the crop; OpenCV samples it for the patch."""

from functools import lru_cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.cpu.dense import dense
from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.signature import READ_2D, READ_3D, READ_FLOATS_2D, WRITE_3D
from livefusion.ops.reference.crop import LEAST_LEFT
from livefusion.ops.reference.warp import Layout, Order
from livefusion.ops.yuv import CHROMA_ZERO, RgbToYuv

Floats = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]
Flag = npt.NDArray[np.int32]

_8, _16, _24 = np.uint32(8), np.uint32(16), np.uint32(24)
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
    words, ring = crop.view(np.uint32)[..., 0], _ring(side, feather)
    packed, weights = red.strides[1] == red.itemsize, _weights(color)
    bad[0] += _convert((red, green, blue), packed, gains, offsets, weights, alpha, ring, words)


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


@njit(inline="always")
def _byte(red: np.float32, green: np.float32, blue: np.float32, weights: Floats) -> np.uint32:
    value = weights[0] * red + weights[1] * green + weights[2] * blue + weights[3]
    return np.uint32(np.int32(min(max(value, np.float32(0)), np.float32(255))))


@njit(cache=True, nogil=True)
def _scale(row: Floats, gain: np.float32, offset: np.float32, out: Floats) -> int:
    """A row of a channel as levels in 0-255; gives how many are no number; they become 0.

    An infinity, and what is none at all, is all that is not itself minus nothing.
    """
    bad, zero, top = np.int32(0), np.float32(0), np.float32(255)
    for x in range(out.shape[0]):
        value = row[x] * gain + offset
        known = value - value == zero
        bad += np.int32(not known)
        out[x] = min(max(value, zero), top) if known else zero
    return int(bad)


@njit(cache=True, nogil=True)
def _pack(  # noqa: PLR0917 numba takes no keyword-only arguments
    red: Floats, green: Floats, blue: Floats, weights: Floats, alpha: Floats, line: Words
) -> None:
    for x in range(line.shape[0]):
        y = _byte(red[x], green[x], blue[x], weights[0])
        cb = _byte(red[x], green[x], blue[x], weights[1])
        cr = _byte(red[x], green[x], blue[x], weights[2])
        opaque = np.uint32(np.int32(alpha[x] + np.float32(0.5)))
        line[x] = np.uint32(y | cb << _8 | cr << _16 | opaque << _24)


@njit(cache=True, nogil=True)
def _blacken(rows: tuple[Floats, Floats, Floats], gain: Floats, offset: Floats, levels: Floats) -> int:
    """Make pixels black that hold no number; gives how many. Most pictures have none."""
    bad = 0
    for x in range(levels.shape[1]):
        known = True
        for channel in range(3):
            known = known and abs(rows[channel][x] * gain[channel] + offset[channel]) < np.inf
        if not known:
            bad += 1
            levels[:, x] = 0
    return bad


@njit(
    f"int64(UniTuple({READ_FLOATS_2D}, 3), boolean, {_READ_1D}, {_READ_1D}, {READ_FLOATS_2D}, {READ_2D},"
    f"{_READ_1D}, uint32[:, :])",
    cache=True,
    nogil=True,
)
def _convert(  # noqa: PLR0917 numba takes no keyword-only arguments
    channels: tuple[Floats, Floats, Floats],
    packed: bool,
    gain: Floats,
    offset: Floats,
    weights: Floats,
    alpha: Plane,
    ring: Floats,
    crop: Words,
) -> int:
    """``crop_of_tensor`` for float32 channels; gives the number of pixels that hold no numbers.

    ``packed`` says that rows are dense, as they are for the layout chw.
    """
    side = crop.shape[1]
    levels, opaque, edge = np.empty((3, side), np.float32), np.empty(side, np.float32), dense(ring)
    bad = 0
    for y in range(crop.shape[0]):
        found = 0
        for channel in range(3):
            row, level = channels[channel][y], levels[channel]
            if packed:
                found += _scale(dense(row), gain[channel], offset[channel], level)
            else:
                found += _scale(row, gain[channel], offset[channel], level)
        if found:
            bad += _blacken((channels[0][y], channels[1][y], channels[2][y]), gain, offset, levels)
        shown = dense(alpha[y])
        for x in range(side):
            opaque[x] = np.float32(shown[x]) * min(edge[y], edge[x])
        _pack(levels[0], levels[1], levels[2], weights, opaque, dense(crop[y]))
    return bad


@njit(f"Tuple((boolean, int64, int64))({READ_FLOATS_2D}, {WRITE_3D})", cache=True, nogil=True)
def _limit(limit: Floats, crop: Plane) -> tuple[bool, np.int64, np.int64]:
    """``limit_alpha`` in float32: whether all are numbers, and the sums of the alphas before and after."""
    known, before, after = True, np.int64(0), np.int64(0)
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
