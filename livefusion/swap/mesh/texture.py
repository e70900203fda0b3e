"""A baked texture as the renderer wants it: YCbCr of the frame, in several sizes, on the device."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.yuv import CHROMA_ZERO, RgbToYuv
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, canonical_mesh

LEVEL_SIZES = (TEXTURE_SIZE, 512, 256, 128, 64)
"""Sides of the levels: only four texels are read a pixel, so a small face drawn from 1024 would shimmer."""
# A level serves while this many of its texels fall on a pixel; the wider bounds keep a level that is in use.
_WANTED, _TOLERATED = (0.9, 1.8), (0.8, 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """One size of a texture: ``texels`` (side, side, 4) uint8 Y, Cb, Cr, alpha and ``uv`` (468, 2) float32,
    the places of the vertices on it; both arrays of the device."""

    side: int
    texels: Array
    uv: Array


def to_levels(rgba: npt.NDArray[np.uint8], color: ColorInfo, device: Device, stream: Stream) -> list[Level]:
    """All levels of an RGBA texture (1024, 1024, 4) in the colours of a frame, largest first."""
    yuva = rgba_to_yuva(rgba, color)
    levels = []
    for side in LEVEL_SIZES:
        if side != yuva.shape[0]:
            yuva = np.asarray(cv2.resize(yuva, (side, side), interpolation=cv2.INTER_AREA), np.uint8)
        levels.append(
            Level(side, _upload(yuva, device, stream), _upload(canonical_mesh().texels(side), device, stream))
        )
    return levels


def choose_level(face_width: float, in_use: int | None = None) -> int:
    """Index of the level for a face of that many pixels; keeps the one in use while it still serves."""
    if in_use is not None and _TOLERATED[0] <= LEVEL_SIZES[in_use] / face_width <= _TOLERATED[1]:
        return in_use
    for index in reversed(range(len(LEVEL_SIZES))):
        if LEVEL_SIZES[index] >= _WANTED[0] * face_width:
            return index
    return 0


def rgba_to_yuva(rgba: npt.NDArray[np.uint8], color: ColorInfo) -> npt.NDArray[np.uint8]:
    """(h, w, 4) uint8 RGBA to Y, Cb, Cr, alpha in a colour description, rounded to nearest."""
    numbers = RgbToYuv.of(color)
    matrix = np.zeros((4, 5), np.float32)
    matrix[0] = *numbers.luma, 0, numbers.luma_offset
    matrix[1] = *numbers.cb, 0, CHROMA_ZERO
    matrix[2] = *numbers.cr, 0, CHROMA_ZERO
    matrix[3, 3] = 1
    return np.asarray(cv2.transform(rgba, matrix), np.uint8)


def _upload(host: npt.NDArray[np.generic], device: Device, stream: Stream) -> Array:
    array = device.empty(host.shape, host.dtype)
    device.copy(array, host, stream)
    return array
