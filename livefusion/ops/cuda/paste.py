"""Blend a patch into a picture, in place: one thread for each 2×2 pixels."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Extent, Kernel, Launcher, address, view
from livefusion.ops.reference.colour import GAIN_LIMITS
from livefusion.ops.reference.grain import CHROMA_DEVIATION, CHROMA_SHARE, DEVIATION, SPREAD
from livefusion.ops.reference.paste import check_even, opacity_table

_PLACED = VIEW * 3 + "iiii"
_BLEND = Kernel("lf_blend_yuva", _PLACED)
_MATCHED = Kernel("lf_blend_matched", _PLACED + VIEW + "PPffffffffI256s")


def blend_yuva(kernels: Launcher, *, luma: Array, chroma: Array, patch: Array, x: int, y: int) -> None:
    """Blend a Y, Cb, Cr, A patch into NV12 in place; see ``livefusion.ops.reference.paste``."""
    extent, left, top = _part(luma, patch, x, y)
    kernels.launch(_BLEND, extent, *view(luma), *view(chroma), *view(patch), x, y, left, top)


def blend_matched(
    kernels: Launcher,
    *,
    patch: Array,
    stats: Array,
    light: Array,
    detail: Array,
    strength: float,
    opacity: float,
    grain: float,
    seed: int,
    luma: Array,
    chroma: Array,
    x: int,
    y: int,
) -> None:
    """Match the colours of a patch, light it and blend it into NV12; contract in ``reference.paste``."""
    extent, left, top = _part(luma, patch, x, y)
    placed = *view(luma), *view(chroma), *view(patch), x, y, left, top
    colours = *view(light), address(stats), address(detail[2]), strength, *GAIN_LIMITS
    noise = grain, DEVIATION, SPREAD, CHROMA_DEVIATION, CHROMA_SHARE, seed
    kernels.launch(_MATCHED, extent, *placed, *colours, *noise, opacity_table(opacity).tobytes())


def _part(luma: Array, patch: Array, x: int, y: int) -> tuple[Extent, int, int]:
    """Squares of 2×2 pixels of a patch that lie in the picture, and the first one's place in the patch."""
    height, width = patch.shape[:2]
    check_even(x, y, width, height)
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(width, luma.shape[1] - x), min(height, luma.shape[0] - y)
    return ((right - left) // 2, (bottom - top) // 2, 1), left, top
