"""How a kernel writes a picture as the tensor of a network: the arguments of an ``LfTensor``."""

from typing import Any

from livefusion.devices.device import Array
from livefusion.devices.kernel import address
from livefusion.ops.reference.warp import Layout, Order

TENSOR = "Pqiiiiiffffff"
"""Codes of an ``LfTensor``."""


def tensor(out: Array, *, mean: Any, scale: Any, layout: Layout, order: Order) -> tuple[float, ...]:
    """The ``LfTensor`` of an array whose last three axes are ``layout``; one more before them is z.

    ``mean`` and ``scale`` are single numbers or three in the order of the output's channels.
    """
    *batch, first, second, third = (stride // out.dtype.itemsize for stride in out.strides)
    channel, row, column = (first, second, third) if layout == "chw" else (third, first, second)
    channels = (0, 1, 2) if order == "rgb" else (2, 1, 0)
    means, scales = _three(mean), _three(scale)
    return (
        address(out),
        batch[0] if batch else 0,
        column,
        row,
        *(channel * i for i in channels),
        *(means[i] for i in channels),
        *(scales[i] for i in channels),
    )


def extent(out: Array, layout: Layout) -> tuple[int, int]:
    """Width and height of a tensor."""
    height, width = out.shape[-2:] if layout == "chw" else out.shape[-3:-1]
    return width, height


def _three(value: Any) -> tuple[float, float, float]:
    red, green, blue = value if hasattr(value, "__len__") else (value,) * 3
    return red, green, blue
