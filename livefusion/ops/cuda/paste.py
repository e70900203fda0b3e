"""Blend a patch into a picture, in place: one thread for each 2×2 pixels."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.paste import check_even

_BLEND = Kernel("lf_blend_yuva", VIEW * 3 + "iiii")


def blend_yuva(kernels: Launcher, *, luma: Array, chroma: Array, patch: Array, x: int, y: int) -> None:
    """Blend a Y, Cb, Cr, A patch into NV12 in place; see ``livefusion.ops.reference.paste``."""
    height, width = patch.shape[:2]
    check_even(x, y, width, height)
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(width, luma.shape[1] - x), min(height, luma.shape[0] - y)
    extent = ((right - left) // 2, (bottom - top) // 2, 1)
    kernels.launch(_BLEND, extent, *view(luma), *view(chroma), *view(patch), x, y, left, top)
