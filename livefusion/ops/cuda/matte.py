"""Where what a network found in front of a face ends: one thread a pixel sums the square round it.

Most pixels of a crop are sure and are done at once; running sums would need two more launches.
"""

from livefusion.devices.device import Array
from livefusion.devices.kernel import VIEW, Kernel, Launcher, address, view
from livefusion.ops.reference.matte import LEAST_DOUBT, LEAST_WEIGHT, NOISE, RADIUS, TINY

_MATTE = Kernel("lf_occlusion_matte", VIEW * 2 + "Piiiffff")


def occlusion_matte(kernels: Launcher, *, found: Array, image: Array, matte: Array) -> None:
    """Move what was found with doubt to the side of its colour; contract in ``reference.matte``."""
    height, width = found.shape
    size = image.dtype.itemsize
    planes = address(image), image.strides[0] // size, image.strides[1] // size
    values = *view(found), *view(matte), *planes, RADIUS, LEAST_WEIGHT, NOISE, LEAST_DOUBT, TINY
    kernels.launch(_MATTE, (width, height, 1), *values)
