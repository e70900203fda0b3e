"""The slate as a picture of the graph: for the safety policy and for the panic switch."""

import threading
from dataclasses import replace

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Buffer, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.provenance.badge import slate


class SlateShelf:
    """Slates by picture size and colour description, drawn once and only read afterwards. Thread-safe."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._pictures: dict[tuple[Size, ColorInfo], Buffer] = {}

    def picture(self, size: Size, color: ColorInfo) -> Buffer:
        """The slate's pixels; nobody may change them."""
        key = (size, color)
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = self._draw(size, color)
            return self._pictures[key]

    def like(self, shown: RenderedFrame) -> RenderedFrame:
        """The slate in the format, and with the numbers, of another picture."""
        frame = shown.frame
        return RenderedFrame(
            replace(frame, buffer=self.picture(frame.size, frame.color)),
            Outcome.SAFE,
        )

    def _draw(self, size: Size, color: ColorInfo) -> Buffer:
        stream = self._device.stream("slate")
        buffer = FramePool(self._device, size, limit=1).acquire(stream)
        luma, chroma = slate(size, color)
        self._device.copy(buffer.luma, luma, stream)
        self._device.copy(buffer.chroma, chroma, stream)
        return buffer.after(stream.record())
