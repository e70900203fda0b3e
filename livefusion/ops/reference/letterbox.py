"""Shrink a whole picture into a fixed tensor, as detectors take it."""

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.ops.fit import letterbox_rows, letterbox_size
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
    enlarge. A picture that shrinks by four or more is averaged over every n-th row alone, which
    ``fit.letterbox_rows`` chooses: only these are read. Stripes as fine as the rows left out may come out as
    broad ones. ``fit.letterbox_affine`` is the exact map of luma. Chroma lies over its luma but for half a
    luma pixel of siting and what n leaves over at the edges, which is below what a detector sees.
    """
    height, width = out.shape[-2:] if layout == "chw" else out.shape[:2]
    inner = letterbox_size(Size(luma.shape[1], luma.shape[0]), Size(width, height))
    of_luma, of_chroma = letterbox_rows(luma.shape[0], chroma.shape[0], inner.height)
    small = resized(luma[of_luma.slice], inner.height, inner.width)
    pairs = resized(chroma[of_chroma.slice], inner.height, inner.width)
    rgb = np.zeros((height, width, 3))
    rgb[: inner.height, : inner.width] = yuv_to_rgb(small, pairs - 128.0, color)
    write_tensor(rgb, out, mean=mean, scale=scale, layout=layout, order=order)
