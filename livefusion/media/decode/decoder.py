"""From decoded pictures of any kind to upright NV12 frames on the device."""

import logging
from typing import Any

from livefusion.core.color import ColorInfo
from livefusion.core.events import FormatChange
from livefusion.core.frame import Buffer
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.decode.layout import DevicePicture, Layout, siting_of
from livefusion.media.decode.orientation import UPRIGHT, Orientation
from livefusion.media.decode.planes import PlaneReader
from livefusion.media.decode.upload import Uploader

_log = logging.getLogger(__name__)


class FrameDecoder:
    """Puts each ``av.VideoFrame`` upright, in NV12 and of even size into a slot of the device.

    Range, matrix, transfer and primaries are kept; so is every sample of 8-bit 4:2:0 input. Odd sizes lose
    their last row or column. A change of size or colour makes a new pool and a ``FormatChange``. A
    ``DevicePicture`` is in its slot already and passes through.
    """

    def __init__(
        self, device: Device, *, codec: str = "", pictures: int = 16, staged: bool | None = None
    ) -> None:
        self._device = device
        self._stream = device.stream("decode")
        self._siting = siting_of(codec)
        self._pictures = pictures
        self._staging = staged
        self._planes = PlaneReader()
        self._key: Any = None
        self._uploader: Uploader | None = None
        self._uploads = Size(0, 0)
        self._layout = Layout(Size(0, 0), UPRIGHT, ColorInfo())

    @property
    def size(self) -> Size:
        """Size of the upright pictures."""
        return self._layout.size

    @property
    def color(self) -> ColorInfo:
        """Colour description of the pictures."""
        return self._layout.color

    @property
    def orientation(self) -> Orientation:
        """How the stored pictures are turned."""
        return self._layout.orientation

    @property
    def _staged(self) -> bool:
        return not self._device.shares_host_memory if self._staging is None else self._staging

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device, or into new memory of this one, from the next on.

        They stay as they are: no ``FormatChange`` comes of it. The memory is made by the next ``adapt``.
        """
        self._device, self._pictures = device, pictures
        self._stream = device.stream("decode")
        self._uploader, self._uploads, self._key = None, Size(0, 0), None

    def adapt(self, picture: Any) -> FormatChange | None:
        """Get ready for a picture; the event if its frames differ in size or colour from the last one's.

        ``InputError`` if it is too small for 4:2:0 chroma or too large.
        """
        key = _format_key(picture)
        if key == self._key:
            return None
        before = (self.size, self.color)
        self._layout = self._read_layout(picture)
        self._key = key
        if self._layout.stored != self._layout.stored.even:
            _log.info("odd picture size %s cropped to %s", self._layout.stored, self._layout.stored.even)
        return FormatChange(self.size, self.color) if before != (self.size, self.color) else None

    def convert(self, picture: Any) -> Buffer:
        """The picture in a slot of the device; ``adapt`` was called with it before."""
        if isinstance(picture, DevicePicture):
            return picture.buffer
        assert self._uploader is not None, "adapt comes first"
        return self._uploader.upload(self._planes.read(picture, self.color), self.orientation)

    def _read_layout(self, picture: Any) -> Layout:
        if isinstance(picture, DevicePicture):
            return picture.layout
        layout = Layout.of_frame(picture, self._siting)
        if self._uploads != layout.size:
            pool = FramePool(self._device, layout.size, limit=self._pictures)
            self._uploader = Uploader(self._device, layout.size, self._stream, pool=pool, staged=self._staged)
            self._uploads = layout.size
        return layout


def _format_key(picture: Any) -> Any:
    """Everything that decides how a picture is converted.

    The display matrix is only looked at through ``rotation``: PyAV's ``side_data`` ties the picture into a
    reference cycle, which kept some hundred pictures alive until the next garbage collection.
    """
    if isinstance(picture, DevicePicture):
        return picture.layout
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
