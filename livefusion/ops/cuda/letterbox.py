"""Shrink a whole picture into a fixed tensor: one thread for each pixel of the tensor."""

from typing import Any

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.cuda.tensor import TENSOR, extent, tensor
from livefusion.ops.fit import Rows, letterbox_rows, letterbox_size
from livefusion.ops.reference.warp import Layout, Order
from livefusion.ops.yuv import YuvToRgb

_LETTERBOX = Kernel("lf_letterbox_nv12", VIEW * 2 + "6f2i" + TENSOR)


def letterbox_nv12(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    out: Array,
    *,
    color: ColorInfo,
    mean: Any = 0.0,
    scale: Any = 1.0,
    layout: Layout = "chw",
    order: Order = "bgr",
) -> None:
    """Fit a whole picture into the top-left of ``out``; see ``livefusion.ops.reference.letterbox``."""
    width, height = extent(out, layout)
    inner = letterbox_size(Size(luma.shape[1], luma.shape[0]), Size(width, height))
    of_luma, of_chroma = letterbox_rows(luma.shape[0], chroma.shape[0], inner.height)
    planes = *_rows(luma, of_luma), *_rows(chroma, of_chroma)
    kernels.launch(
        _LETTERBOX,
        (width, height, 1),
        *(*planes, *YuvToRgb.of(color).values(), inner.width, inner.height),
        *tensor(out, mean=mean, scale=scale, layout=layout, order=order),
    )


def _rows(plane: Array, rows: Rows) -> tuple[int, int, int, int, int]:
    """The ``view`` of rows of a plane: as they lie at equal distances, just another pitch."""
    address, pitch, width, _, channels = view(plane)
    return address + rows.first * pitch, rows.step * pitch, width, rows.count, channels
