"""Sample a picture through affine maps, one a face, as networks take it."""

from collections.abc import Sequence
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
    rgb: Floats, out: npt.NDArray[np.floating], *, mean: Any, scale: Any, layout: Layout, order: Order
) -> None:
    """Normalise (h, w, 3) RGB and store it in the layout and channel order of a network."""
    channels = rgb if order == "rgb" else rgb[..., ::-1]
    values = (channels - np.asarray(mean)) * np.asarray(scale)
    out[:] = values.transpose(2, 0, 1) if layout == "chw" else values


def nv12_warp_norm(
    luma: Plane,
    chroma: Plane,
    out: npt.NDArray[np.floating],
    *,
    matrices: Sequence[Affine],
    color: ColorInfo,
    mean: float | tuple[float, float, float] = 0.0,
    scale: float | tuple[float, float, float] = 1.0,
    layout: Layout = "chw",
    order: Order = "rgb",
) -> None:
    """Sample NV12 through one affine map a face and normalise: ``out[i] = (RGB − mean) · scale``.

    ``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) are uint8. ``matrices`` has one map for each of the n tensors
    in ``out``, as many as are wanted, none included; each maps source to destination pixels and is inverted
    here. Both planes are sampled bilinearly, chroma where ``color.siting`` says its samples lie; outside the
    picture the border is replicated. RGB is clipped to 0–255 before ``mean`` and ``scale`` apply, which are
    single numbers or three in the order of the output's channels. ``out`` is contiguous float32 or float16,
    (n, 3, H, W) for ``chw`` or (n, H, W, 3) for ``hwc``; float16 is the float32 result rounded at the end.
    ``ValueError``, and nothing written, if n is not the number of maps or a map has no inverse.
    """
    for tensor, back in zip(out, inverses(matrices, out), strict=True):
        height, width = tensor.shape[-2:] if layout == "chw" else tensor.shape[:2]
        grid = np.mgrid[0:height, 0:width].astype(np.float64)
        x = back[0, 0] * grid[1] + back[0, 1] * grid[0] + back[0, 2]
        y = back[1, 0] * grid[1] + back[1, 1] * grid[0] + back[1, 2]
        colours = chroma_at(chroma, x, y, chroma_origin(color.siting))
        rgb = yuv_to_rgb(bilinear(luma, x, y), colours, color)
        write_tensor(rgb, tensor, mean=mean, scale=scale, layout=layout, order=order)


def inverses(matrices: Sequence[Affine], out: Any) -> list[Floats]:
    """The (2, 3) maps from destination to source; ``ValueError`` unless ``out`` has one tensor for each."""
    if len(out) != len(matrices):
        raise ValueError(f"{len(matrices)} maps cannot fill {len(out)} tensors")
    return [matrix.inverse().matrix for matrix in matrices]
