"""An array as rows of bytes, which is what CUDA copies."""

from dataclasses import dataclass

from livefusion.devices.device import Array
from livefusion.devices.kernel import address


@dataclass(frozen=True, slots=True)
class Rows:
    """``height`` rows of ``width`` bytes, ``pitch`` bytes apart, from ``address`` on."""

    address: int
    width: int
    height: int
    pitch: int

    @property
    def whole(self) -> bool:
        """Whether the rows follow each other without a gap."""
        return self.height == 1 or self.pitch == self.width

    def split_like(self, other: "Rows") -> "Rows":
        """The same bytes in rows as wide as those of ``other``; ``ValueError`` if their gaps do not match."""
        if self.width == other.width:
            return self
        if self.whole and other.width < self.width * self.height:
            total = self.width * self.height
            return Rows(self.address, other.width, total // other.width, other.width)
        if other.whole:
            return self
        raise ValueError(f"rows of {self.width} bytes cannot be copied to rows of {other.width}")


def rows_of(array: Array) -> Rows:
    """The rows of a non-empty array with at most one gap between them.

    ``ValueError`` if it has more, or if its rows overlap or run backwards.
    """
    size = array.dtype.itemsize
    width, height, pitch = size, 1, 0
    for side, step in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if side == 1:
            continue
        if height == 1 and step == width:
            width *= side
        elif height == 1 or step == pitch * height:
            pitch, height = (step, side) if height == 1 else (pitch, height * side)
        else:
            raise ValueError(f"an array of strides {array.strides} cannot be copied in one go")
    if height > 1 and pitch < width:
        raise ValueError(f"an array of strides {array.strides} cannot be copied: its rows overlap")
    return Rows(address(array), width, height, pitch or width)
