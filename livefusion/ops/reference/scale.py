"""NV12 in another size."""

from livefusion.core.geometry import Region
from livefusion.ops.reference.paste import check_even
from livefusion.ops.reference.plane import fill_region
from livefusion.ops.reference.sampling import Plane, resized, to_byte


def scale_nv12(
    luma: Plane,
    chroma: Plane,
    out_luma: Plane,
    out_chroma: Plane,
    *,
    region: Region,
    background: tuple[int, int, int] = (16, 128, 128),
) -> None:
    """Resize a whole picture into ``region`` of another, and set what surrounds it to ``background``.

    ``luma`` (h, w), ``chroma`` (h/2, w/2, 2) and their ``out_`` likes are uint8. The region is even, not
    empty, and lies within the output (``ValueError`` if not); ``fit.centred_region`` gives one that keeps the
    proportions. Each axis is averaged by area to shrink and interpolated bilinearly to enlarge.
    """
    check_region(region, out_luma)
    height, width = out_luma.shape
    fill_region(out_luma, out_chroma, x=0, y=0, width=width, height=height, yuv=background)
    out_luma[region.luma] = to_byte(resized(luma, region.height, region.width))
    out_chroma[region.chroma] = to_byte(resized(chroma, region.height // 2, region.width // 2))


def check_region(region: Region, luma: Plane) -> None:
    """``ValueError`` unless the region is even, holds pixels, and lies within a luma plane."""
    check_even(region.x, region.y, region.width, region.height)
    height, width = luma.shape
    inside = region.x >= 0 and region.y >= 0 and region.x + region.width <= width
    if region.empty or not inside or region.y + region.height > height:
        raise ValueError(f"{region} does not lie within a picture of {width}x{height}")
