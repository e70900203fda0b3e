"""Make a region unrecognisable: a block of threads for each cell, then a thread for each 2×2 pixels."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.blur import grid_of
from livefusion.ops.reference.paste import check_even

_ARGUMENTS = VIEW * 2 + "Piiiiiiffffffi"
_MEANS = Kernel("lf_blur_means", _ARGUMENTS, block=(256, 1, 1), by_block=True)
_VEIL = Kernel("lf_blur_veil", _ARGUMENTS)
_FLOAT = 4


def blur_region(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    *,
    x: int,
    y: int,
    width: int,
    height: int,
    cells: int = 8,
    feather: int = 0,
) -> None:
    """Replace a box of NV12 by its mean colours in place; see ``livefusion.ops.reference.blur``."""
    check_even(x, y, width, height, feather)
    left, top = max(0, x - feather), max(0, y - feather)
    right = min(luma.shape[1], x + width + feather)
    bottom = min(luma.shape[0], y + height + feather)
    if width <= 0 or height <= 0 or left >= right or top >= bottom:
        return
    across, down = right - left, bottom - top
    rows, columns = grid_of(across, down, cells)
    means = kernels.scratch("blur_region", 3 * rows * columns * _FLOAT)
    area = left, top, across, down, rows, columns, columns / across, rows / down
    box = x - left, y - top, x + width - left, y + height - top
    values = *view(luma), *view(chroma), means, *area, *box, feather
    kernels.launch(_MEANS, (columns, rows, 2), *values)
    kernels.launch(_VEIL, (across // 2, down // 2, 1), *values)
