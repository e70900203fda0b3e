"""From what a swap network gives to a patch: one thread a pixel; one block weighs what a limit leaves."""

from typing import Any

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.cuda.tensor import TENSOR
from livefusion.ops.cuda.tensor import tensor as laid_out
from livefusion.ops.cuda.warp import MAP, fixed_map
from livefusion.ops.reference.crop import LEAST_LEFT, mask_map
from livefusion.ops.reference.warp import Layout, Order
from livefusion.ops.yuv import RgbToYuv

_CROP_CODES = TENSOR + VIEW * 2 + "P10f" + MAP + "ii"
_CROP = {4: Kernel("lf_crop_of_tensor_f32", _CROP_CODES), 2: Kernel("lf_crop_of_tensor_f16", _CROP_CODES)}
_LIMIT_CODES = "PiiPfi" + VIEW
_LIMIT = {
    4: Kernel("lf_limit_alpha_f32", _LIMIT_CODES, (256, 1, 1), by_block=True),
    2: Kernel("lf_limit_alpha_f16", _LIMIT_CODES, (256, 1, 1), by_block=True),
}
_PATCH = Kernel("lf_patch_of_crop", VIEW * 2 + "P" + MAP)
_REFINE = Kernel("lf_refine_patch", VIEW * 2 + "P" + MAP + "fi")


def crop_of_tensor(
    kernels: Launcher,
    *,
    tensor: Array,
    mask: Array,
    crop: Array,
    bad: Array,
    color: ColorInfo,
    gain: Any = 255.0,
    offset: Any = 0.0,
    layout: Layout = "chw",
    order: Order = "rgb",
    feather: int = 0,
) -> None:
    """Turn what a network gives into Y, Cb, Cr, alpha; contract in ``reference.crop``."""
    side = crop.shape[0]
    source = laid_out(tensor, mean=offset, scale=gain, layout=layout, order=order)
    numbers = RgbToYuv.of(color)
    weights = (numbers.luma_offset, *numbers.luma, *numbers.cb, *numbers.cr)
    forth = fixed_map(mask_map(mask.shape[0], side).matrix.tolist(), side, side)
    values = (*source, *view(mask), *view(crop), address(bad), *weights, *forth, feather, 0)
    kernels.launch(_CROP[tensor.dtype.itemsize], (side, side, 1), *values)


def limit_alpha(kernels: Launcher, *, limit: Array, crop: Array, bad: Array) -> None:
    """Multiply the alpha of a crop by a limit; contract in ``reference.crop``."""
    down, across = (step // limit.dtype.itemsize for step in limit.strides)
    values = address(limit), across, down, address(bad), LEAST_LEFT, 0, *view(crop)
    kernels.launch(_LIMIT[limit.dtype.itemsize], (1, 1, 1), *values)


def patch_of_crop(kernels: Launcher, *, crop: Array, bad: Array, to_crop: Affine, patch: Array) -> None:
    """Sample a crop for every pixel of a patch; contract in ``reference.crop``."""
    height, width = patch.shape[:2]
    forth = fixed_map(to_crop.matrix.tolist(), width, height)
    kernels.launch(_PATCH, (width, height, 1), *view(crop), *view(patch), address(bad), *forth)


def refine_patch(
    kernels: Launcher, *, crop: Array, bad: Array, to_crop: Affine, share: float, patch: Array
) -> None:
    """Bring the colours of a patch towards those of a crop; contract in ``reference.crop``."""
    height, width = patch.shape[:2]
    forth = fixed_map(to_crop.matrix.tolist(), width, height)
    kernels.launch(
        _REFINE, (width, height, 1), *view(crop), *view(patch), address(bad), *forth, share / 255, 0
    )
