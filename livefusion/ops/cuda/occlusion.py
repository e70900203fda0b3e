"""What is in front of a face: one block weighs the crop, then one thread a pixel cuts the patch."""

from livefusion.core.geometry import Affine
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.cuda.warp import MAP, fixed_map
from livefusion.ops.reference.occlusion import ALL, DOUBTED, MOST_SIDE, NONE, check_side

_TRACK = Kernel(
    "lf_occlusion_track", VIEW * 4 + "P" + MAP + f"fffii{3 * MOST_SIDE}s", (256, 1, 1), by_block=True
)
_OCCLUDE = Kernel("lf_occlude", VIEW * 2 + "P" + MAP + "ffii")


def occlusion_track(
    kernels: Launcher,
    *,
    found: Array,
    patch: Array,
    to_crop: Affine,
    outline: Array,
    rise: float,
    fall: float,
    band: float,
    belief: Array,
    cover: Array,
    share: Array,
) -> None:
    """Take what was found into what is believed, and weigh it; contract in ``reference.occlusion``.

    Sums are whole numbers, the same in any order.
    """
    check_side(cover)
    height, width = cover.shape
    views = *view(found), *view(belief), *view(cover), *view(patch)
    back = fixed_map(to_crop.inverse().matrix.tolist(), width, height)
    speed = rise, fall, band, NONE, ALL
    kernels.launch(_TRACK, (1, 1, 1), *views, address(share), *back, *speed, outline.tobytes())


def occlude(
    kernels: Launcher, *, cover: Array, share: Array, to_crop: Affine, most: float, patch: Array
) -> None:
    """Make a patch transparent where something is before the face; contract in ``reference.occlusion``."""
    if most <= 0:
        return
    height, width = patch.shape[:2]
    forth = fixed_map(to_crop.matrix.tolist(), width, height)
    values = *view(cover), *view(patch), address(share), *forth, most, DOUBTED, NONE, ALL
    kernels.launch(_OCCLUDE, (width, height, 1), *values)
