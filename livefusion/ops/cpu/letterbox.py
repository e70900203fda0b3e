"""Shrink a whole picture into a fixed tensor: planes are resized small, then one pass converts them."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.ops.cpu.resize import resize
from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.tensor import write_tensor
from livefusion.ops.fit import letterbox_rows, letterbox_size
from livefusion.ops.reference.warp import Layout, Order


def letterbox_nv12(
    luma: Plane,
    chroma: Plane,
    out: npt.NDArray[np.float32],
    *,
    color: ColorInfo,
    mean: Any = 0.0,
    scale: Any = 1.0,
    layout: Layout = "chw",
    order: Order = "bgr",
) -> None:
    """Fit a whole picture into the top-left of ``out``; see ``livefusion.ops.reference.letterbox``."""
    height, width = out.shape[-2:] if layout == "chw" else out.shape[:2]
    inner = letterbox_size(Size(luma.shape[1], luma.shape[0]), Size(width, height))
    small = scratch("letterbox y", inner.height, inner.width)
    pairs = scratch("letterbox cbcr", inner.height, inner.width, 2)
    of_luma, of_chroma = letterbox_rows(luma.shape[0], chroma.shape[0], inner.height)
    resize(luma[of_luma.slice], small)  # which OpenCV reads in place, as rows of a picture with a pitch
    resize(chroma[of_chroma.slice], pairs)
    cb, cr = (scratch(f"letterbox {name}", inner.height, inner.width) for name in ("cb", "cr"))
    cv2.split(pairs, (cb, cr))
    write_tensor((small, cb, cr), out, color=color, mean=mean, scale=scale, layout=layout, order=order)
