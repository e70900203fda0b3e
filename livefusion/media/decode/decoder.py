"""From decoded pictures of any kind to upright NV12 frames on the device."""

import logging
from typing import Any

from livefusion.core.color import ColorInfo, Siting
from livefusion.core.errors import InputError
from livefusion.core.events import FormatChange
from livefusion.core.frame import Buffer
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.decode.orientation import UPRIGHT, Orientation
from livefusion.media.decode.planes import PlaneReader
from livefusion.media.decode.upload import Uploader
from livefusion.media.h273 import read_color

_log = logging.getLogger(__name__)

MAX_PIXELS = 40_000_000
"""Largest picture that is taken in, so that a few crafted bytes cannot ask for all memory."""

MAX_SIDE = 16_384
"""Longest side that is taken in: what H.264 encoders can write."""

_CENTRED_CHROMA = frozenset({"mjpeg", "mpeg1video", "jpeg2000"})


class FrameDecoder:
    """Puts each ``av.VideoFrame`` upright, in NV12 and of even size into a slot of the device.

    Range, matrix, transfer and primaries are kept; so is every sample of 8-bit 4:2:0 input. Odd sizes lose
    their last row or column. A change of size or colour makes a new pool and a ``FormatChange``.
    """

    def __init__(
        self, device: Device, *, codec: str = "", pictures: int = 16, staged: bool | None = None
    ) -> None:
        self._device = device
        self._stream = device.stream("decode")
        self._siting = Siting.CENTRE if codec in _CENTRED_CHROMA else Siting.LEFT
        self._pictures = pictures
        self._staged = staged
        self._planes = PlaneReader()
        self._key: Any = None
        self._uploader: Uploader | None = None
        self._size = Size(0, 0)
        self._color = ColorInfo()
        self._orientation = UPRIGHT

    @property
    def size(self) -> Size:
        """Size of the upright pictures."""
        return self._size

    @property
    def color(self) -> ColorInfo:
        """Colour description of the pictures."""
        return self._color

    @property
    def orientation(self) -> Orientation:
        """How the stored pictures are turned."""
        return self._orientation

    def adapt(self, picture: Any) -> FormatChange | None:
        """Get ready for a picture; the event if its frames differ in size or colour from the last one's.

        ``InputError`` if it is too small for 4:2:0 chroma or larger than ``MAX_PIXELS`` or ``MAX_SIDE``.
        """
        key = _format_key(picture)
        if key == self._key:
            return None
        before = (self._size, self._color)
        stored = Size(picture.width, picture.height)
        _check_size(stored)
        self._orientation = Orientation.of_frame(picture)
        self._size = self._orientation.size_of(stored.even)
        self._color = read_color(picture, height=self._size.height, siting=self._siting)
        if self._size != before[0] or self._uploader is None:
            self._uploader = self._new_uploader()
        if stored != stored.even:
            _log.info("odd picture size %s cropped to %s", stored, stored.even)
        self._key = key
        return FormatChange(self._size, self._color) if before != (self._size, self._color) else None

    def convert(self, picture: Any) -> Buffer:
        """The picture in a slot of the device; ``adapt`` was called with it before."""
        assert self._uploader is not None, "adapt comes first"
        return self._uploader.upload(self._planes.read(picture, self._color), self._orientation)

    def _new_uploader(self) -> Uploader:
        pool = FramePool(self._device, self._size, limit=self._pictures)
        staged = not self._device.shares_host_memory if self._staged is None else self._staged
        return Uploader(self._device, self._size, self._stream, pool=pool, staged=staged)


def _check_size(stored: Size) -> None:
    if stored.width < 2 or stored.height < 2:
        raise InputError(f"a picture of {stored} is too small", "use one of at least 2x2 pixels")
    if stored.width * stored.height > MAX_PIXELS or max(stored.width, stored.height) > MAX_SIDE:
        raise InputError(f"a picture of {stored} is too large", "scale it below 40 megapixels first")


def _format_key(picture: Any) -> tuple[Any, ...]:
    """Everything that decides how a picture is converted.

    The display matrix is only looked at through ``rotation``: PyAV's ``side_data`` ties the picture into a
    reference cycle, which kept some hundred pictures alive until the next garbage collection.
    """
    return (
        picture.width,
        picture.height,
        picture.format.name,
        picture.rotation,
        picture.color_range,
        picture.colorspace,
        picture.color_trc,
        picture.color_primaries,
    )
