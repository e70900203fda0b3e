"""How a decoded picture is stored, and what becomes of it upright."""

from dataclasses import dataclass
from typing import Any

from livefusion.core.color import ColorInfo, Siting
from livefusion.core.errors import InputError
from livefusion.core.frame import Buffer
from livefusion.core.geometry import Size
from livefusion.media.decode.orientation import Orientation
from livefusion.media.h273 import read_color

MAX_PIXELS = 40_000_000
"""Largest picture that is taken in, so that a few crafted bytes cannot ask for all memory."""

MAX_SIDE = 16_384
"""Longest side that is taken in: what H.264 encoders can write."""

_CENTRED_CHROMA = frozenset({"mjpeg", "mpeg1video", "jpeg2000"})


def siting_of(codec: str) -> Siting:
    """Where a codec, by FFmpeg's name, has its chroma samples."""
    return Siting.CENTRE if codec in _CENTRED_CHROMA else Siting.LEFT


@dataclass(frozen=True, slots=True)
class Layout:
    """``stored`` is the decoded size; pictures leave cropped to even sides and turned by ``orientation``."""

    stored: Size
    orientation: Orientation
    color: ColorInfo

    @property
    def size(self) -> Size:
        """Size of the upright, even-sized picture."""
        return self.orientation.size_of(self.stored.even)

    @staticmethod
    def of_frame(frame: Any, siting: Siting) -> "Layout":
        """The layout of an ``av.VideoFrame``.

        ``InputError`` if it is too small for 4:2:0 chroma or larger than ``MAX_PIXELS`` or ``MAX_SIDE``.
        """
        stored = Size(frame.width, frame.height)
        _check_size(stored)
        orientation = Orientation.of_frame(frame)
        upright = orientation.size_of(stored.even)
        return Layout(stored, orientation, read_color(frame, height=upright.height, siting=siting))


@dataclass(frozen=True, slots=True, eq=False)
class DevicePicture:
    """A picture that a chip decoded: it already lies upright in a slot of the device."""

    pts: int | None
    layout: Layout
    buffer: Buffer

    @property
    def width(self) -> int:
        """Width as it was stored."""
        return self.layout.stored.width

    @property
    def height(self) -> int:
        """Height as it was stored."""
        return self.layout.stored.height


def _check_size(stored: Size) -> None:
    if stored.width < 2 or stored.height < 2:
        raise InputError(f"a picture of {stored} is too small", "use one of at least 2x2 pixels")
    if stored.width * stored.height > MAX_PIXELS or max(stored.width, stored.height) > MAX_SIDE:
        raise InputError(f"a picture of {stored} is too large", "scale it below 40 megapixels first")
