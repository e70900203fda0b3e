"""NV12 turned and mirrored: one thread for each 2×2 pixels of the output."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.turn import check_turned

# Square blocks: transposed, rows that are read are columns that are written, and both find their neighbours
# in the cache.
_TURN = Kernel("lf_turn_nv12", VIEW * 4 + "4i", block=(16, 16, 1))


def turn_nv12(
    kernels: Launcher,
    luma: Array,
    chroma: Array,
    out_luma: Array,
    out_chroma: Array,
    *,
    transpose: bool = False,
    mirror_x: bool = False,
    mirror_y: bool = False,
) -> None:
    """Turn a picture into another; see ``livefusion.ops.reference.turn``."""
    for plane, out in ((luma, out_luma), (chroma, out_chroma)):
        check_turned(plane, out, transpose=transpose)
    height, width = out_chroma.shape[:2]
    kernels.launch(
        _TURN,
        (width, height, 1),
        *(*view(luma), *view(chroma), *view(out_luma), *view(out_chroma)),
        *(transpose, mirror_x, mirror_y, 0),
    )
