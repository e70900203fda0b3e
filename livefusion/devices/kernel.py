"""What a CUDA kernel is to those who launch it: a name, the layout of its arguments, the shape of a block.

A kernel takes one structure by value: the extent of the launch, then its own arguments. Python packs it with
``struct`` in native layout, so the codes of a kernel mirror its C++ structure in ``kernels/*.h`` member by
member; the host twin compares the sizes of both.
"""

import struct
from dataclasses import dataclass, field
from typing import Any, Protocol

from livefusion.devices.device import Array

Extent = tuple[int, int, int]

VIEW = "Piiii"
"""Codes of an ``LfView``: address, bytes from row to row, width, height, channels."""
MOST_BYTES = 4096
"""Limit of CUDA for the arguments of a kernel."""
_EXTENT = "@iiii"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of ``livefusion/devices/kernels``.

    ``codes`` are the ``struct`` codes of its arguments. ``block`` is the number of threads along x, y and z.
    The extent of a launch counts threads, each with its pixel, or, if ``by_block``, blocks whose threads work
    together.
    """

    name: str
    codes: str
    block: Extent = (32, 8, 1)
    by_block: bool = False
    layout: struct.Struct = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", struct.Struct(_EXTENT + self.codes))
        if self.layout.size > MOST_BYTES:
            raise ValueError(f"{self.name} takes {self.layout.size} bytes of arguments, not {MOST_BYTES}")

    def grid(self, extent: Extent) -> Extent:
        """Blocks along x, y and z for an extent."""
        if self.by_block:
            return extent
        x, y, z = self.block
        return -(-extent[0] // x), -(-extent[1] // y), -(-extent[2] // z)


class Launcher(Protocol):
    """Runs kernels in the order of one stream. Belongs to the thread that owns the stream."""

    def launch(self, kernel: Kernel, extent: Extent, *values: Any) -> None:
        """Run a kernel over an extent, which may be empty; ``values`` are as many as its codes."""
        ...

    def scratch(self, use: str, size: int) -> int:
        """Address of at least ``size`` bytes for what kernels of one launch hand to those of the next.

        Aligned to 256 bytes, its content undefined. It is valid until the same use is asked for again.
        """
        ...


def view(array: Array) -> tuple[int, int, int, int, int]:
    """The ``LfView`` of a (h, w) or (h, w, c) array whose pixels lie side by side in each row."""
    shape = array.shape
    try:  # as ``address`` does, without the call: two dozen views are taken for a frame
        pointer = array.data.ptr
    except AttributeError:
        pointer = array.ctypes.data
    return pointer, array.strides[0], shape[1], shape[0], shape[2] if len(shape) == 3 else 1


def address(array: Array) -> int:
    """Where the first element of an array lies, on the GPU or, for the host twin, on the host."""
    try:
        pointer: int = array.data.ptr
    except AttributeError:
        pointer = array.ctypes.data
    return pointer
