"""Soften the edge of a patch: one thread a pixel sums its part of a row, then one its box."""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, view
from livefusion.ops.reference.feather import check_radius

_ROWS = Kernel("lf_mask_feather_rows", VIEW + "Pii")
_BOXES = Kernel("lf_mask_feather", VIEW + "Pii")


def mask_feather(kernels: Launcher, *, patch: Array, radius: int) -> None:
    """Soften the alpha of a patch inward, in place; see ``livefusion.ops.reference.feather``."""
    check_radius(radius)
    if radius == 0:
        return
    height, width = patch.shape[:2]
    values = (*view(patch), kernels.scratch("feather", 4 * height * width), radius, 0)
    kernels.launch(_ROWS, (width, height, 1), *values)
    kernels.launch(_BOXES, (width, height, 1), *values)
