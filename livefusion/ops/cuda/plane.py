"""Fill and shift the values of a rectangle of a picture: one thread for each 2×2 or 8×8 pixels."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.paste import check_even
from livefusion.ops.reference.plane import BLOCK

_FILL = Kernel("lf_fill_region", VIEW * 2 + "iiiii")
_ADD = Kernel("lf_add_plane", VIEW * 3)


def fill_region(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    *,
    x: int,
    y: int,
    width: int,
    height: int,
    yuv: tuple[int, int, int],
) -> None:
    """Set a rectangle of NV12 to one colour in place; see ``livefusion.ops.reference.plane``."""
    check_even(x, y, width, height)
    left, top = max(0, x), max(0, y)
    right, bottom = min(luma.shape[1], x + width), min(luma.shape[0], y + height)
    extent = (max(0, right - left) // 2, max(0, bottom - top) // 2, 1)
    kernels.launch(_FILL, extent, *view(luma), *view(chroma), left, top, *yuv)


def add_plane(kernels: Launcher, luma: Array, delta: Array, gains: Array) -> None:
    """Add to the luma, as strongly as each block hides it; see ``livefusion.ops.reference.plane``."""
    extent = (-(-luma.shape[1] // BLOCK), -(-luma.shape[0] // BLOCK), 1)
    kernels.launch(_ADD, extent, *view(luma), *view(delta), *view(gains))
