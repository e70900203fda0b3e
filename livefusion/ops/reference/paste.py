"""Blend a patch into a picture, in place."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.colour import matched
from livefusion.ops.reference.grain import chroma_grain, grain_gains, luma_grain
from livefusion.ops.reference.sampling import Plane


def blend_yuva(luma: Plane, chroma: Plane, patch: Plane, x: int, y: int) -> None:
    """Blend a Y, Cb, Cr, A patch into NV12 at (x, y), in place and in exact integer arithmetic.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8; ``patch`` is (H, W, 4) uint8 in the colour
    description of the picture, with H, W, ``x`` and ``y`` even (``ValueError`` if not); what lies outside the
    picture is left out. With A the alpha, ``Y' = (Y·(255 − A) + Yp·A + 127) // 255``. A chroma sample takes
    the colours of its 2×2 pixels, weighted by their alphas, at their mean alpha:
    ``C' = (C·(1020 − ΣA) + Σ(A·Cp) + 510) // 1020``. So alpha 0 leaves every byte as it is.
    """
    check_even(x, y, patch.shape[1], patch.shape[0])
    left, top = max(0, -x), max(0, -y)
    patch = patch[top : max(0, luma.shape[0] - y), left : max(0, luma.shape[1] - x)]
    height, width = patch.shape[:2]
    x, y = x + left, y + top
    values = patch.astype(np.int64)
    alpha = values[..., 3]

    target = luma[y : y + height, x : x + width]
    target[:] = (target * (255 - alpha) + values[..., 0] * alpha + 127) // 255

    blocks = (height // 2, 2, width // 2, 2)
    weight = alpha.reshape(blocks).sum(axis=(1, 3))[..., None]
    colours = (values[..., 1:3] * alpha[..., None]).reshape(*blocks, 2).sum(axis=(1, 3))
    sample = chroma[y // 2 : (y + height) // 2, x // 2 : (x + width) // 2]
    sample[:] = (sample * (1020 - weight) + colours + 510) // 1020


def blend_matched(
    *,
    patch: Plane,
    stats: npt.NDArray[np.float32],
    light: npt.NDArray[np.float32],
    detail: npt.NDArray[np.float32],
    strength: float,
    opacity: float,
    grain: float,
    seed: int,
    luma: Plane,
    chroma: Plane,
    x: int,
    y: int,
) -> None:
    """Give a patch the colours and the light of the picture below it, and blend it into that, in place.

    ``patch`` (h, w, 4) uint8 Y, Cb, Cr, alpha is only read. ``stats`` (3, 4) float32 is as ``colour_stats``
    leaves it, ``light`` (⌈h/8⌉, ⌈w/8⌉, 3) float32 as ``light_field`` does. Colours are matched by the
    statistics, and ``strength`` times the light is added, interpolated bilinearly between the middles of its
    cells. So is ``grain`` in [0, 1] times what ``detail`` (3, 6) float32, as ``measure_detail`` leaves it,
    says is missing: noise that depends on the place in the picture and on ``seed``, a word of 32 bits, alone;
    the four pixels of a chroma sample share theirs. The sum is rounded to nearest within 0–255. Alpha is
    multiplied by ``opacity`` in [0, 1] and rounded to nearest. What this gives is blended at even ``x``,
    ``y`` as ``blend_yuva`` does, with its errors: alpha 0 leaves every byte as it is.
    """
    check_even(x, y, patch.shape[1], patch.shape[0])
    alpha = opacity_table(opacity)[patch[..., 3]]
    noise = _noise(patch.shape[0], patch.shape[1], x, y, seed, grain_gains(detail, grain))
    coloured = np.dstack([matched(patch, stats, light, strength, noise), alpha])
    blend_yuva(luma, chroma, coloured, x, y)


def _noise(  # noqa: PLR0917
    height: int, width: int, x: int, y: int, seed: int, gains: tuple[float, float, float]
) -> npt.NDArray[np.float64]:
    """(h, w, 3) grain of Y, Cb and Cr."""
    white, coarse, colour = gains
    samples = chroma_grain(x // 2, y // 2, width // 2, height // 2, seed, colour)
    return np.dstack(
        [luma_grain(x, y, width, height, seed, white, coarse), samples.repeat(2, axis=0).repeat(2, axis=1)]
    )


@lru_cache(maxsize=16)
def opacity_table(opacity: float) -> Plane:
    """(256,) uint8, read-only: what each alpha becomes, whatever precision a device has."""
    table = (np.arange(256) * opacity + 0.5).astype(np.uint8)
    table.flags.writeable = False
    return table


def check_even(*numbers: int) -> None:
    """``ValueError`` unless all numbers are even, so that chroma samples are never split."""
    if any(number % 2 for number in numbers):
        raise ValueError(f"offsets and sizes in NV12 are even, not {numbers}")
