"""From what a swap network gives to a patch: a crop in the colours of the frame, then its place in it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.reference.sampling import Plane, bilinear, to_byte
from livefusion.ops.reference.warp import Layout, Order
from livefusion.ops.yuv import CHROMA_ZERO, RgbToYuv

LEAST_LEFT = 0.5
"""Share of the alpha that a limit must leave: with less, it would uncover the face that is to be hidden."""


def crop_of_tensor(
    *,
    tensor: npt.NDArray[np.floating],
    mask: Plane,
    crop: Plane,
    bad: npt.NDArray[np.int32],
    color: ColorInfo,
    gain: float | tuple[float, float, float] = 255.0,
    offset: float | tuple[float, float, float] = 0.0,
    layout: Layout = "chw",
    order: Order = "rgb",
    feather: int = 0,
) -> None:
    """Turn the picture that a network gives into Y, Cb, Cr, alpha, and look that all of it are numbers.

    ``tensor`` is float32 or float16, (3, S, S) for ``chw`` or (S, S, 3) for ``hwc``; RGB in 0–255 is its
    value · ``gain`` + ``offset``, clipped, with single numbers or three in the order of its channels.
    ``crop`` (S, S, 4) uint8 gets it in the colours of ``color``, rounded to nearest. Its alpha is that of
    ``mask`` (M, M, 4) uint8, resized bilinearly so that the areas coincide, times min(1, d / ``feather``),
    where d counts pixels from the nearest edge of the crop, 0 in its outermost ring; not at all for a feather
    of 0. To ``bad`` (1,) int32 the number of pixels is added that hold an infinity or no number: these become
    black.
    """
    values = tensor.astype(np.float64) if layout == "hwc" else tensor.astype(np.float64).transpose(1, 2, 0)
    values = values * np.asarray(gain, np.float64) + np.asarray(offset, np.float64)
    finite = np.asarray(np.isfinite(values).all(axis=2))
    rgb = np.clip(np.where(finite[..., None], values, 0), 0, 255)
    rgb = rgb if order == "rgb" else rgb[..., ::-1]
    numbers = RgbToYuv.of(color)
    crop[..., 0] = to_byte(rgb @ np.array(numbers.luma) + numbers.luma_offset)
    crop[..., 1] = to_byte(rgb @ np.array(numbers.cb) + CHROMA_ZERO)
    crop[..., 2] = to_byte(rgb @ np.array(numbers.cr) + CHROMA_ZERO)
    side = crop.shape[0]
    y, x = np.mgrid[0:side, 0:side].astype(np.float64)
    forth = mask_map(mask.shape[0], side).matrix
    alpha = bilinear(mask[..., 3], forth[0, 0] * x + forth[0, 2], forth[1, 1] * y + forth[1, 2])
    if feather > 0:
        within = np.minimum(np.minimum(x, y), side - 1 - np.maximum(x, y))
        alpha = alpha * np.clip(within / feather, 0, 1)
    crop[..., 3] = to_byte(alpha)
    bad[0] += int((~finite).sum())


def mask_map(mask: int, crop: int) -> Affine:
    """From pixels of a crop of that side to those of its mask: the areas coincide."""
    scale = mask / crop
    return Affine([[scale, 0, (scale - 1) / 2], [0, scale, (scale - 1) / 2]])


def limit_alpha(*, limit: npt.NDArray[np.floating], crop: Plane, bad: npt.NDArray[np.int32]) -> None:
    """Multiply the alpha of ``crop`` (S, S, 4) uint8 by ``limit`` (S, S) float32 or float16, clipped to 0–1.

    Rounded to nearest. If less than ``LEAST_LEFT`` of the sum of all alphas is left, or ``limit`` holds
    something that is no number, which counts as 1, 1 is added to ``bad`` (1,) int32.
    """
    values = limit.astype(np.float64)
    unknown = np.isnan(values)
    share = np.clip(np.where(unknown, 1, values), 0, 1)
    before = int(crop[..., 3].astype(np.int64).sum())
    crop[..., 3] = to_byte(crop[..., 3] * share)
    after = int(crop[..., 3].astype(np.int64).sum())
    if unknown.any() or after < LEAST_LEFT * before:
        bad[0] += 1


def patch_of_crop(*, crop: Plane, bad: npt.NDArray[np.int32], to_crop: Affine, patch: Plane) -> None:
    """Put a crop in its place: sample it for every pixel of a patch.

    ``crop`` (S, S, 4) and ``patch`` (h, w, 4) are uint8 Y, Cb, Cr, alpha; ``to_crop`` maps pixels of the
    patch to those of the crop. Sampled bilinearly, all four zero outside the crop, and rounded to nearest.
    With ``bad`` (1,) int32 other than 0 the patch stays as it is.
    """
    if bad[0] != 0:
        return
    height, width = patch.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    forth: Any = to_crop.matrix
    u = forth[0, 0] * x + forth[0, 1] * y + forth[0, 2]
    v = forth[1, 0] * x + forth[1, 1] * y + forth[1, 2]
    ringed = np.pad(crop, ((1, 1), (1, 1), (0, 0)))
    patch[...] = to_byte(bilinear(ringed, u + 1, v + 1))


def refine_patch(
    *, crop: Plane, bad: npt.NDArray[np.int32], to_crop: Affine, share: float, patch: Plane
) -> None:
    """Bring the colours of a patch towards those of a crop; which pixels it covers stays as it is.

    ``crop`` (S, S, 4) and ``patch`` (h, w, 4) are uint8 Y, Cb, Cr, alpha; ``to_crop`` maps pixels of the
    patch to those of the crop, which is sampled bilinearly with the border replicated. Each colour moves
    towards the sampled one by ``share`` in [0, 1] times the sampled alpha, rounded to nearest. With ``bad``
    (1,) int32 other than 0 the patch stays as it is.
    """
    if bad[0] != 0:
        return
    height, width = patch.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    forth: Any = to_crop.matrix
    u = forth[0, 0] * x + forth[0, 1] * y + forth[0, 2]
    v = forth[1, 0] * x + forth[1, 1] * y + forth[1, 2]
    sampled = bilinear(crop, u, v)
    way = share * sampled[..., 3:] / 255
    colours = patch[..., :3].astype(np.float64)
    patch[..., :3] = to_byte(colours + (sampled[..., :3] - colours) * way)
