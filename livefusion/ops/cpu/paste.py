"""Blend a patch into a picture, in place."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.matched import blend_rows
from livefusion.ops.cpu.signature import READ_3D, WRITE_2D, WRITE_3D
from livefusion.ops.reference.grain import grain_gains
from livefusion.ops.reference.paste import check_even, opacity_table

Plane = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def blend_yuva(luma: Plane, chroma: Plane, patch: Plane, x: int, y: int) -> None:
    """Blend a Y, Cb, Cr, A patch into NV12 in place; see ``livefusion.ops.reference.paste``."""
    check_even(x, y, patch.shape[1], patch.shape[0])
    _blend(luma, chroma, patch, x, y)


def blend_matched(
    *,
    patch: Plane,
    stats: Floats,
    light: Floats,
    detail: Floats,
    strength: float,
    opacity: float,
    grain: float,
    seed: int,
    luma: Plane,
    chroma: Plane,
    x: int,
    y: int,
) -> None:
    """Match the colours of a patch, light it and blend it into NV12; contract in ``reference.paste``."""
    check_even(x, y, patch.shape[1], patch.shape[0])
    noise = grain_gains(detail, grain)
    pixels, samples = patch.view(np.uint32)[..., 0], chroma.view(np.uint16)[..., 0]
    alphas, through = opacity_table(opacity), opacity != 1
    blend_rows(luma, samples, pixels, stats, light, strength, alphas, through, noise, seed, x, y)


@njit(f"void({WRITE_2D}, {WRITE_3D}, {READ_3D}, int64, int64)", cache=True, nogil=True)
def _blend(luma: Plane, chroma: Plane, patch: Plane, x: int, y: int) -> None:
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(patch.shape[1], luma.shape[1] - x), min(patch.shape[0], luma.shape[0] - y)
    for row in range(top, bottom, 2):
        for column in range(left, right, 2):
            weight, cb, cr = np.int32(0), np.int32(0), np.int32(0)
            for down in range(2):
                for across in range(2):
                    i, j = row + down, column + across
                    a = np.int32(patch[i, j, 3])
                    old = np.int32(luma[y + i, x + j])
                    new = (old * (255 - a) + np.int32(patch[i, j, 0]) * a + 127) // 255
                    luma[y + i, x + j] = np.uint8(new)
                    cb += a * np.int32(patch[i, j, 1])
                    cr += a * np.int32(patch[i, j, 2])
                    weight += a
            if weight:
                i, j = (y + row) // 2, (x + column) // 2
                keep = 1020 - weight
                chroma[i, j, 0] = np.uint8((np.int32(chroma[i, j, 0]) * keep + cb + 510) // 1020)
                chroma[i, j, 1] = np.uint8((np.int32(chroma[i, j, 1]) * keep + cr + 510) // 1020)
