"""How sharp and how grainy a face is, and how a patch is made as soft as the frame it goes into."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.colour import FIRM_ALPHA, GAIN_LIMITS
from livefusion.ops.reference.sampling import Plane

REACH = 4
"""Pixels to the right and below that a sample looks at."""
FEWEST_SAMPLES = 64
"""Fewer firm samples than this leave ``detail`` as it is."""
BINS = 64
"""Of the histograms of high-pass residuals; what is larger counts for the last one."""
QUANTILE, QUANTILE_OF_NORMAL = 0.3, 0.38532
"""The share of small residuals that noise is read from, and that quantile of |N(0, 1)|: lids, lips and pores
are rare and large, noise is everywhere."""
SOFTEST = 2.7
"""Largest standard deviation in pixels by which a patch is softened."""
KERNELS, KERNEL_TAPS = 64, 8
"""Kernels from none to the softest, and taps from the middle outwards."""

DETAIL_SHAPE = (3, 6)
"""Of ``detail``: rows of the frame, of the patch, and of what follows from them."""
SOFTNESS, WHITE, COARSE = 0, 1, 2
"""Places in the last row: standard deviation of the missing blur in pixels, of the missing grain from pixel
to pixel, and of the missing grain that spreads over neighbours, in code values."""

CONTRAST_LIMITS = (GAIN_LIMITS[0] ** 2, GAIN_LIMITS[1] ** 2)
"""Bounds of how the variances of frame and patch are compared: what colour matching can do to the patch's."""

SURE = 1.3
"""From this much of the fine variance on, the coarse one tells of noise that spreads: samples are few."""

_FLAT = 1e-6
_CLEAR = 0.5
"""Code values squared that keep a face without any edges from being taken for a sharp one."""


def measure_detail(
    *,
    patch: Plane,
    luma: Plane,
    x: int,
    y: int,
    step: int,
    momentum: float,
    noise_momentum: float,
    detail: npt.NDArray[np.float32],
) -> None:
    """Compare sharpness and noise of a patch with those of the frame under it.

    ``patch`` (h, w, 4) uint8 Y, Cb, Cr, alpha lies at ``x``, ``y`` of the plane ``luma``. Samples are taken
    at each ``step`` pixels where alpha is firm at the sample and at the corners and the middle of the square
    of ``REACH`` pixels right and below of it; where that leaves the frame there is no sample. ``detail``
    (3, 6) float32 holds for the frame and for the patch: mean squared difference of pixels 1, 2 and 4 apart,
    variance, and the variances of fine and of coarse noise. New values are mixed into old ones by
    1 − ``momentum``, those of the noise by 1 − ``noise_momentum``; they replace them if it is 0. The last row
    then gets ``SOFTNESS``, ``WHITE`` and ``COARSE``: what the patch lacks, 0 where it lacks nothing.
    """
    height, width = patch.shape[:2]
    rows, columns = np.mgrid[0 : max(0, height - REACH) : step, 0 : max(0, width - REACH) : step]
    rows, columns = rows.ravel(), columns.ravel()
    firm = (rows + y >= 0) & (columns + x >= 0)
    firm &= (rows + y + REACH < luma.shape[0]) & (columns + x + REACH < luma.shape[1])
    for down, across in ((0, 0), (0, REACH), (REACH, 0), (REACH, REACH), (REACH // 2, REACH // 2)):
        firm &= patch[rows + down, columns + across, 3] >= FIRM_ALPHA * 255
    rows, columns = rows[firm], columns[firm]
    if len(rows) < FEWEST_SAMPLES:
        return
    for row, (plane, left, top) in enumerate(((luma, x, y), (patch[..., 0], 0, 0))):
        new = _measured(plane.astype(np.int64), rows + top, columns + left)
        shares = np.array([momentum] * 4 + [noise_momentum] * 2)
        detail[row] = np.where(shares == 0, new, shares * detail[row] + (1 - shares) * new)
    detail[2] = 0
    detail[2, :3] = missing(detail)


def _measured(plane: Any, rows: Any, columns: Any) -> npt.NDArray[np.float64]:
    def at(down: int, across: int) -> Any:
        return plane[rows + down, columns + across]

    def four(down: int, across: int) -> Any:
        return at(down, across) + at(down, across + 1) + at(down + 1, across) + at(down + 1, across + 1)

    first = at(0, 0)
    steps = [((at(0, d) - first) ** 2 + (at(d, 0) - first) ** 2).mean() / 2 for d in (1, 2, 4)]
    fine = np.abs(first - at(0, 1) - at(1, 0) + at(1, 1))
    coarse = (np.abs(four(0, 0) - four(0, 2) - four(2, 0) + four(2, 2)) + 1) // 2
    return np.array([*steps, first.var(), noise_variance(fine), noise_variance(coarse)])


def noise_variance(residuals: npt.NDArray[np.int64]) -> float:
    """The variance of the noise behind whole residuals ≥ 0 that have twice its deviation."""
    counts = np.bincount(np.minimum(residuals, BINS - 1), minlength=BINS)
    wanted, below = QUANTILE * len(residuals), 0.0
    for level, count in enumerate(counts):
        if below + count >= wanted:
            low, high = max(0.0, level - 0.5), level + 0.5
            middle = low + (high - low) * (wanted - below) / count
            return float((middle / (2 * QUANTILE_OF_NORMAL)) ** 2)
        below += float(count)
    return 0.0


def missing(detail: npt.NDArray[np.float32]) -> tuple[float, float, float]:
    """``SOFTNESS``, ``WHITE`` and ``COARSE`` from the first two rows of ``detail``.

    The noise of neighbours adds the same to all three differences, so the differences of those are free of
    it. Blur is told twice, as if all were edges: by the ratio of fine to coarse, which does not mind
    contrast, and by how much is fine at all, which does not mind a face of broad shapes. The second
    may only take from the first: strong features of a new face would else count as sharpness. Residuals hold
    noise and a share of what is fine; that share is the patch's, whose noise is small.
    """
    frame, patch = detail.astype(np.float64)[:2]
    (frame_fine, frame_width), (patch_fine, patch_width) = (_edges(*row[:3]) for row in (frame, patch))
    contrast = np.clip((frame[3] + _FLAT) / (patch[3] + _FLAT), *CONTRAST_LIMITS)
    weaker = (contrast * patch_fine / frame_fine) ** 2 - 1
    faded = max(0.0, weaker * (0.8 + patch_width))
    wider = max(0.0, frame_width - patch_width)
    blur = min(np.sqrt(wider * min(wider, faded)), SOFTEST**2)
    share = frame_fine / patch_fine
    fine, coarse = (max(0.0, frame[i] - share * patch[i]) for i in (4, 5))
    coarse = min(max(0.0, (coarse - SURE * fine) / 1.25), fine)
    return float(np.sqrt(blur)), float(np.sqrt(fine - 0.111 * coarse)), float(np.sqrt(coarse))


def _edges(one: float, two: float, four: float) -> tuple[float, float]:
    """How much is fine, and the squared width of the edges, from squared differences 1, 2 and 4 apart."""
    fine = max(two - one, 0) + _CLEAR / 4
    broad = max(four - two, 0) + _CLEAR
    # 1/4 for the widest edges, 1/2 for steps; the rational function follows the integral over a blurred step.
    over = min(max(fine / broad - 0.25, 0.004), 0.25)
    steep = 1 / over - 4
    return fine, 0.172 * steep + 0.27 * steep / (steep + 0.3)


def soften_patch(*, patch: Plane, detail: npt.NDArray[np.float32]) -> None:
    """Blur the colours of a patch (h, w, 4) uint8, in place, by ``SOFTNESS`` of ``detail`` (3, 6) float32.

    Rows first, then columns, each in whole numbers, rounded to nearest, with kernel
    ``softening_kernels()[kernel_index(softness)]``. Pixels outside the patch and those whose alpha is 0 count
    as the one in the middle. Alpha stays as it is.
    """
    index = kernel_index(float(detail[2, SOFTNESS]))
    if index == 0:
        return
    kernel = softening_kernels()[index]
    for axis in (1, 0):
        patch[..., :3] = _blurred(patch, kernel, axis)


def _blurred(patch: Plane, kernel: npt.NDArray[np.uint16], axis: int) -> Plane:
    values = np.moveaxis(patch.astype(np.int64), axis, 0)
    sums = values[..., :3] * int(kernel[0])
    for distance, share in enumerate(kernel[1:].tolist(), 1):
        for way in (-distance, distance):
            near = np.roll(values, -way, axis=0)
            if way > 0:
                near[max(0, len(near) - way) :] = 0
            else:
                near[:-way] = 0
            sums += share * np.where(near[..., 3:] > 0, near[..., :3], values[..., :3])
    return np.moveaxis(((sums + 128) >> 8).astype(np.uint8), 0, axis)


def kernel_index(softness: float) -> int:
    """The kernel for a standard deviation in pixels."""
    return int(min(max(softness, 0.0), SOFTEST) * ((KERNELS - 1) / SOFTEST) + 0.5)


@lru_cache(maxsize=1)
def softening_kernels() -> npt.NDArray[np.uint16]:
    """(64, 8) shares of 256 of the middle and of its neighbours 1–7 away, read-only; each Gaussian but for
    rounding. The first changes nothing."""
    table = np.zeros((KERNELS, KERNEL_TAPS), np.uint16)
    places = np.arange(KERNEL_TAPS)
    for index in range(KERNELS):
        deviation = index * SOFTEST / (KERNELS - 1)
        shares = np.exp(-(places**2) / (2 * deviation**2)) if index else (places == 0).astype(np.float64)
        shares /= shares[0] + 2 * shares[1:].sum()
        table[index, 1:] = np.round(256 * shares[1:])
        table[index, 0] = 256 - 2 * table[index, 1:].sum()
    table.flags.writeable = False
    return table
