"""How a kernel writes a picture as the tensor of a network: the arguments of an ``LfTensor``."""

from typing import Any

from livefusion.devices.device import Array
from livefusion.devices.kernel import address
from livefusion.ops.reference.warp import Layout, Order

TENSOR = "Pqiiiiiffffff"
"""Codes of an ``LfTensor``."""
_AXES = 3


def tensor(out: Array, *, mean: Any, scale: Any, layout: Layout, order: Order) -> tuple[float, ...]:
    """The ``LfTensor`` of an array whose last three axes are ``layout``; one more before them is z.

    ``mean`` and ``scale`` are single numbers or three in the order of the output's channels.
    """
    size, strides = out.dtype.itemsize, out.strides
    first, second, third = strides[-3] // size, strides[-2] // size, strides[-1] // size
    channel, row, column = (first, second, third) if layout == "chw" else (third, first, second)
    batch = strides[0] // size if len(strides) > _AXES else 0
    where = address(out), batch, column, row
    means, scales = _three(mean), _three(scale)
    if order == "rgb":
        return (*where, 0, channel, 2 * channel, *means, *scales)
    return (*where, 2 * channel, channel, 0, *means[::-1], *scales[::-1])


def extent(out: Array, layout: Layout) -> tuple[int, int]:
    """Width and height of a tensor."""
    height, width = out.shape[-2:] if layout == "chw" else out.shape[-3:-1]
    return width, height


def _three(value: Any) -> tuple[float, float, float]:
    red, green, blue = value if hasattr(value, "__len__") else (value,) * 3
    return red, green, blue
