"""Sample a picture through affine maps: one thread for each pixel, one launch for up to eight faces."""

import math
from collections.abc import Sequence
from typing import Any

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.cuda.tensor import TENSOR, extent, tensor
from livefusion.ops.reference.warp import Layout, Order, inverses
from livefusion.ops.yuv import YuvToRgb, chroma_origin

FACES = 8
"""Faces in one launch."""

MAP = "8q"
"""Codes of the two ``LfAxis`` of a map."""

_CODES = VIEW * 2 + "6f2i" + MAP * FACES + TENSOR
_KERNELS = {
    4: Kernel("lf_nv12_warp_norm_f32", _CODES),
    2: Kernel("lf_nv12_warp_norm_f16", _CODES),
}
_BITS, _ROOM = 31, 62
"""Bits of a position: most of the fraction, all but the sign and one."""


def nv12_warp_norm(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    out: Array,
    *,
    matrices: Sequence[Affine],
    color: ColorInfo,
    mean: Any = 0.0,
    scale: Any = 1.0,
    layout: Layout = "chw",
    order: Order = "rgb",
) -> None:
    """Sample NV12 through affine maps and normalise; see ``livefusion.ops.reference.warp``."""
    width, height = extent(out, layout)
    maps = [fixed_map(back.tolist(), width, height) for back in inverses(matrices, out)]
    origin = [round(2 * part) for part in chroma_origin(color.siting)]
    picture = (*view(luma), *view(chroma), *YuvToRgb.of(color).values(), *origin)
    for first in range(0, len(maps), FACES):
        some = maps[first : first + FACES]
        numbers = [number for numbers in some for number in numbers] + [0] * (8 * (FACES - len(some)))
        target = tensor(out[first : first + FACES], mean=mean, scale=scale, layout=layout, order=order)
        kernels.launch(_KERNELS[out.dtype.itemsize], (width, height, len(some)), *picture, *numbers, *target)


def fixed_map(back: list[list[float]], width: int, height: int) -> tuple[int, ...]:
    """The two ``LfAxis`` of a (2, 3) map from a destination of that size to its source."""
    across, down = back
    return (*_axis(across, width, height), *_axis(down, width, height))


def _axis(row: list[float], width: int, height: int) -> tuple[int, int, int, int]:
    """One row of a map in fixed point, with as much of a fraction as leaves room for the largest position.

    A row beyond all room is shrunk into it: it leaves the picture within a pixel all the same.
    """
    across, down, start = row
    largest = abs(across) * width + abs(down) * height + abs(start) + 1
    spare = _ROOM - math.frexp(largest)[1]
    bits = min(max(spare, 1), _BITS)
    unit = 2.0 ** min(spare, bits)
    return round(across * unit), round(down * unit), round(start * unit), bits
