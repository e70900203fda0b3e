"""Sample a picture through an affine map, as networks take it."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.reference.convert import yuv_to_rgb
from livefusion.ops.reference.sampling import Floats, Plane, bilinear, chroma_at
from livefusion.ops.yuv import chroma_origin

Layout = Literal["chw", "hwc"]
Order = Literal["rgb", "bgr"]


def write_tensor(
    rgb: Floats, out: npt.NDArray[np.float32], *, mean: Any, scale: Any, layout: Layout, order: Order
) -> None:
    """Normalise (h, w, 3) RGB and store it in the layout and channel order of a network."""
    channels = rgb if order == "rgb" else rgb[..., ::-1]
    values = (channels - np.asarray(mean)) * np.asarray(scale)
    out[:] = values.transpose(2, 0, 1) if layout == "chw" else values


def nv12_warp_norm(
    luma: Plane,
    chroma: Plane,
    out: npt.NDArray[np.float32],
    *,
    matrix: Affine,
    color: ColorInfo,
    mean: float | tuple[float, float, float] = 0.0,
    scale: float | tuple[float, float, float] = 1.0,
    layout: Layout = "chw",
    order: Order = "rgb",
) -> None:
    """Sample NV12 through an affine map and normalise: ``out = (RGB − mean) · scale``.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8. ``matrix`` maps source to destination pixels and
    is inverted here (``ValueError`` if it cannot be). Both planes are sampled bilinearly, chroma where
    ``color.siting`` says its samples lie; outside the picture the border is replicated. RGB is clipped to
    0–255 before ``mean`` and ``scale`` apply, which are single numbers or three in the order of the output's
    channels. ``out`` is float32, (3, H, W) for ``chw`` or (H, W, 3) for ``hwc``.
    """
    height, width = out.shape[-2:] if layout == "chw" else out.shape[:2]
    grid = np.mgrid[0:height, 0:width].astype(np.float64)
    back = matrix.inverse().matrix
    x = back[0, 0] * grid[1] + back[0, 1] * grid[0] + back[0, 2]
    y = back[1, 0] * grid[1] + back[1, 1] * grid[0] + back[1, 2]
    colours = chroma_at(chroma, x, y, chroma_origin(color.siting))
    rgb = yuv_to_rgb(bilinear(luma, x, y), colours, color)
    write_tensor(rgb, out, mean=mean, scale=scale, layout=layout, order=order)
