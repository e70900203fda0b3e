"""The slate as a picture of the graph: for the safety policy, the panic switch, and what is lost."""

import logging
import threading
from dataclasses import replace

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceError
from livefusion.core.frame import Buffer, Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.provenance.badge import SLATE_TEXT, slate

_log = logging.getLogger(__name__)


class SlateShelf:
    """Slates by picture size and colour description, drawn once and only read afterwards. Thread-safe.

    A device that refuses memory for one gets it in host memory: there always is a slate.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._host = CpuDevice()
        self._lock = threading.Lock()
        self._pictures: dict[tuple[str, Size, ColorInfo, str], Buffer] = {}
        self.text = SLATE_TEXT
        """What the slates of the panic switch say; replaced, and read once a picture."""

    def move(self, device: Device) -> None:
        """Keep slates on another device from now on, and let go of those on the former one."""
        with self._lock:
            self._pictures = {key: kept for key, kept in self._pictures.items() if key[0] == "cpu"}
            self._device = device

    def picture(self, size: Size, color: ColorInfo, text: str = SLATE_TEXT) -> Buffer:
        """The slate's pixels, which say ``text``; nobody may change them."""
        with self._lock:
            return self._on(self._device, size, color, text)

    def like(self, shown: RenderedFrame) -> RenderedFrame:
        """The slate in the format, and with the numbers, of another picture."""
        return stand_in(shown, self.picture(shown.frame.size, shown.frame.color, self.text))

    def host_like(self, shown: RenderedFrame) -> RenderedFrame:
        """The same in host memory, which no device has to be asked for."""
        with self._lock:
            return stand_in(shown, self._on(self._host, shown.frame.size, shown.frame.color, self.text))

    def in_place_of(self, frame: Frame) -> RenderedFrame:
        """The slate as what becomes of a frame."""
        return RenderedFrame(frame.with_buffer(self.picture(frame.size, frame.color)), Outcome.SAFE)

    def _on(self, device: Device, size: Size, color: ColorInfo, text: str) -> Buffer:
        key = (device.name, size, color, text)
        if key not in self._pictures:
            try:
                self._pictures[key] = _draw(device, size, color, text)
            except DeviceError as error:
                if device.name == "cpu":
                    raise
                _log.debug("the slate is kept in host memory: %s", error)
                self._pictures[key] = self._on(self._host, size, color, text)
        return self._pictures[key]


def stand_in(shown: RenderedFrame, pixels: Buffer) -> RenderedFrame:
    """The slate with the numbers of another picture; it stands in for what that one stood for."""
    return replace(shown, frame=replace(shown.frame, buffer=pixels), outcome=Outcome.SAFE)


def _draw(device: Device, size: Size, color: ColorInfo, text: str) -> Buffer:
    stream = device.stream("slate")
    buffer = FramePool(device, size, limit=1).acquire(stream)
    luma, chroma = slate(size, color, text)
    device.copy(buffer.luma, luma, stream)
    device.copy(buffer.chroma, chroma, stream)
    return buffer.after(stream.record())
