"""NV12 in another size: one thread for each 2×2 pixels of the output."""

from livefusion.core.geometry import Region
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.scale import check_region

_SCALE = Kernel("lf_scale_nv12", VIEW * 4 + "4i3ii")


def scale_nv12(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    out_luma: Array,
    out_chroma: Array,
    *,
    region: Region,
    background: tuple[int, int, int] = (16, 128, 128),
) -> None:
    """Resize a picture into a region of another; see ``livefusion.ops.reference.scale``."""
    check_region(region, out_luma)
    height, width = out_chroma.shape[:2]
    kernels.launch(
        _SCALE,
        (width, height, 1),
        *(*view(luma), *view(chroma), *view(out_luma), *view(out_chroma)),
        *(region.x // 2, region.y // 2, region.width // 2, region.height // 2),
        *(*background, 0),
    )
