"""NV12 in another size."""

from livefusion.core.geometry import Region
from livefusion.ops.cpu.resize import resize
from livefusion.ops.cpu.scratch import Plane
from livefusion.ops.reference.plane import fill_region
from livefusion.ops.reference.scale import check_region


def scale_nv12(
    luma: Plane,
    chroma: Plane,
    out_luma: Plane,
    out_chroma: Plane,
    *,
    region: Region,
    background: tuple[int, int, int] = (16, 128, 128),
) -> None:
    """Resize a picture into a region of another; see ``livefusion.ops.reference.scale``."""
    check_region(region, out_luma)
    width, height = out_luma.shape[::-1]
    right, bottom = region.x + region.width, region.y + region.height
    for x, y, across, down in (
        (0, 0, width, region.y),
        (0, bottom, width, height - bottom),
        (0, region.y, region.x, region.height),
        (right, region.y, width - right, region.height),
    ):
        fill_region(out_luma, out_chroma, x=x, y=y, width=across, height=down, yuv=background)
    resize(luma, out_luma[region.luma])
    resize(chroma, out_chroma[region.chroma])
