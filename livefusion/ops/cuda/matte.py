"""Where what a network found in front of a face ends: one thread a pixel sums the square round it.

Most pixels of a crop are sure and are done at once; running sums would need two more launches.
"""

from livefusion.core.geometry import Affine
from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.cuda.warp import MAP, fixed_map
from livefusion.ops.reference.matte import LEAST_DOUBT, LEAST_WEIGHT, NOISE, RADIUS, TINY

_MATTE = Kernel("lf_occlusion_matte", VIEW * 2 + "Piiiffff")
_BARE_CODES = "Piiiiii" + MAP + "ff" + VIEW
_BARE = {4: Kernel("lf_bare_of_tensor_f32", _BARE_CODES), 2: Kernel("lf_bare_of_tensor_f16", _BARE_CODES)}


def occlusion_matte(kernels: Launcher, *, found: Array, image: Array, matte: Array) -> None:
    """Move what was found with doubt to the side of its colour; contract in ``reference.matte``."""
    height, width = found.shape
    size = image.dtype.itemsize
    planes = address(image), image.strides[0] // size, image.strides[1] // size
    values = *view(found), *view(matte), *planes, RADIUS, LEAST_WEIGHT, NOISE, LEAST_DOUBT, TINY
    kernels.launch(_MATTE, (width, height, 1), *values)


def bare_of_tensor(
    kernels: Launcher,
    *,
    tensor: Array,
    to_tensor: Affine,
    low: float,
    gain: float,
    classes: int,
    matte: Array,
) -> None:
    """Raise a matte to what another network sees before the face; contract in ``reference.matte``."""
    depth, high, wide = tensor.shape
    height, width = matte.shape
    size = tensor.dtype.itemsize
    steps = tensor.strides[0] // size, tensor.strides[1] // size
    forth = fixed_map(to_tensor.matrix.tolist(), width, height)
    # The kernel takes rows whose values lie side by side, as those of networks do.
    values = address(tensor), *steps, depth, wide, high, classes, *forth, low, gain, *view(matte)
    kernels.launch(_BARE[size], (width, height, 1), *values)
