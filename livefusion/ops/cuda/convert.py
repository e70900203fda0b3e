"""NV12 to RGB and back, whole pictures: one thread for each 2×2 pixels."""

from livefusion.core.color import ColorInfo, Siting
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.yuv import RgbToYuv, YuvToRgb

_TO_RGB = Kernel("lf_nv12_to_rgb", VIEW * 3 + "6fii")
_FROM_RGB = Kernel("lf_rgb_to_nv12", VIEW * 3 + "10fii")


def nv12_to_rgb(kernels: Launcher, luma: Array, chroma: Array, rgb: Array, color: ColorInfo) -> None:
    """Convert a whole picture to RGB; see ``livefusion.ops.reference.convert``."""
    height, width = chroma.shape[:2]
    picture = (*view(luma), *view(chroma), *view(rgb))
    is_left = color.siting is Siting.LEFT
    kernels.launch(_TO_RGB, (width, height, 1), *picture, *YuvToRgb.of(color).values(), is_left, 0)


def rgb_to_nv12(kernels: Launcher, rgb: Array, luma: Array, chroma: Array, color: ColorInfo) -> None:
    """Convert a whole RGB picture to NV12; see ``livefusion.ops.reference.convert``."""
    height, width = chroma.shape[:2]
    picture = (*view(rgb), *view(luma), *view(chroma))
    k = RgbToYuv.of(color)
    numbers = (k.luma_offset, *k.luma, *k.cb, *k.cr)
    kernels.launch(_FROM_RGB, (width, height, 1), *picture, *numbers, color.siting is Siting.LEFT, 0)
