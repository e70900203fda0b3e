"""Shrink a whole picture into a fixed tensor, as detectors take it."""

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.ops.fit import letterbox_size
from livefusion.ops.reference.convert import yuv_to_rgb
from livefusion.ops.reference.sampling import Plane, resized
from livefusion.ops.reference.warp import Layout, Order, write_tensor


def letterbox_nv12(
    luma: Plane,
    chroma: Plane,
    out: npt.NDArray[np.float32],
    *,
    color: ColorInfo,
    mean: float | tuple[float, float, float] = 0.0,
    scale: float | tuple[float, float, float] = 1.0,
    layout: Layout = "chw",
    order: Order = "bgr",
) -> None:
    """Fit a whole picture into the top-left of ``out``: ``(RGB − mean) · scale``, and ``-mean·scale`` beside.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8; ``out`` is float32, (3, H, W) for ``chw`` or
    (H, W, 3) for ``hwc``. The picture fills ``fit.letterbox_size`` and the rest is black, that is RGB 0
    before ``mean`` and ``scale``. Planes are averaged by area to shrink and interpolated bilinearly to
    enlarge, chroma over the very area of its luma: siting, half a luma pixel, is below what a detector sees.
    """
    height, width = out.shape[-2:] if layout == "chw" else out.shape[:2]
    inner = letterbox_size(Size(luma.shape[1], luma.shape[0]), Size(width, height))
    rgb = np.zeros((height, width, 3))
    rgb[: inner.height, : inner.width] = yuv_to_rgb(
        resized(luma, inner.height, inner.width), resized(chroma, inner.height, inner.width) - 128.0, color
    )
    write_tensor(rgb, out, mean=mean, scale=scale, layout=layout, order=order)
