"""Colour conversion and normalisation as DALI's operators take them."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.ops.dali.library import Dali
from livefusion.ops.preprocess import Normalisation
from livefusion.ops.reference.warp import Order
from livefusion.ops.yuv import CHROMA_ZERO, YuvToRgb


def colour_matrix(color: ColorInfo, order: Order) -> npt.NDArray[np.float32]:
    """[M T] for ``coord_transform``, float32 (3, 4): code values Y, Cb, Cr to R, G, B or B, G, R in 0–255."""
    k = YuvToRgb.of(color)
    linear = np.array(
        [[k.luma_gain, 0.0, k.red_cr], [k.luma_gain, k.green_cb, k.green_cr], [k.luma_gain, k.blue_cb, 0.0]]
    )
    shift = -linear @ (k.luma_offset, CHROMA_ZERO, CHROMA_ZERO)
    rows = np.column_stack((linear, shift)).astype(np.float32)
    return np.ascontiguousarray(rows if order == "rgb" else rows[::-1])


def to_tensor(
    dali: Dali, planes: Iterable[Any], matrix: Any, *, how: Normalisation, size: tuple[int, int]
) -> Any:
    """Nodes of a pipeline from float luma and chroma of one size to a normalised tensor (3, *size).

    Colours are clipped to 0–255 before ``mean`` and ``scale``; beside the picture it is black.
    """
    values = dali.fn.coord_transform(dali.fn.cat(*planes, axis=2), MT=matrix)
    mean, scale = (np.broadcast_to(value, 3).astype(np.float64) for value in (how.mean, how.scale))
    return dali.fn.crop_mirror_normalize(
        dali.math.clamp(values, 0.0, 255.0),
        crop=size,
        crop_pos_x=0.0,
        crop_pos_y=0.0,
        out_of_bounds_policy="pad",
        fill_values=list(-mean * scale),
        mean=list(mean),
        std=list(1.0 / scale),
        output_layout="CHW",
        dtype=dali.types.FLOAT,
    )
