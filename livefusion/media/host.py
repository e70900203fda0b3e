"""Pictures of the device as the host sees them, for encoders and sinks that work there."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import Range
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.devices.device import Device, Stream

Plane = npt.NDArray[np.uint8]


class HostPictures:
    """The pictures of a device as one sink or encoder reads them on the host; for one thread.

    Where memory is shared they are the pixels themselves. Elsewhere each picture is copied once, as a whole,
    into pinned memory on a stream of its own. A picture that lies on another device is fetched from there.
    """

    def __init__(self, device: Device) -> None:
        self._use(device)

    def planes(self, frame: Frame) -> tuple[Plane, Plane]:
        """Luma (h, w) and chroma (h/2, w/2, 2) once they are ready.

        They are valid until the next call, and not longer than ``frame`` is held.
        """
        buffer = frame.buffer
        if buffer.home is not self._device:
            self._use(buffer.home)
        if self._stream is None:
            if buffer.ready is not None:
                buffer.ready.synchronize()
            return self._device.to_host(buffer.luma), self._device.to_host(buffer.chroma)
        return self._fetch(frame, self._stream)

    def _use(self, device: Device) -> None:
        stream = None if device.shares_host_memory else device.stream("download")
        self._device, self._stream = device, stream  # both or none: a device may refuse
        self._pinned = np.empty((0, 0), np.uint8)

    def _fetch(self, frame: Frame, stream: Stream) -> tuple[Plane, Plane]:
        buffer = frame.buffer
        width, height = buffer.luma.shape[::-1]
        if self._pinned.shape != buffer.nv12.shape:
            self._pinned = self._device.pinned(buffer.nv12.shape, "uint8")
        stream.wait(buffer.ready)
        self._device.copy(self._pinned, buffer.nv12, stream)
        copied = stream.record()
        buffer.read_until(copied, stream)
        copied.synchronize()
        return self._pinned[:height], self._pinned[height:].reshape(height // 2, width // 2, 2)


class Fitter:
    """Brings pictures into the one size that a sink was opened with, black bars where shapes differ."""

    def __init__(self, size: Size) -> None:
        self._size = size
        self._luma = np.empty((size.height, size.width), np.uint8)
        self._chroma = np.empty((size.height // 2, size.width // 2, 2), np.uint8)
        self._bars: tuple[Size, Range] | None = None

    def fit(self, luma: Plane, chroma: Plane, value_range: Range) -> tuple[Plane, Plane]:
        """The planes themselves if they have the size, else scaled ones, valid until the next call."""
        size = Size(luma.shape[1], luma.shape[0])
        if size == self._size:
            return luma, chroma
        if self._bars != (size, value_range):
            self._luma.fill(0 if value_range is Range.FULL else 16)
            self._chroma.fill(128)
            self._bars = (size, value_range)
        scale = min(self._size.width / size.width, self._size.height / size.height)
        # Whole chroma samples: sides are multiples of two, and so is the place of the corner.
        width, height = (max(2, round(side * scale / 2) * 2) for side in (size.width, size.height))
        left, top = ((self._size.width - width) // 4) * 2, ((self._size.height - height) // 4) * 2
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        cv2.resize(luma, (width, height), self._luma[top : top + height, left : left + width], 0, 0, how)
        inner = self._chroma[top // 2 : (top + height) // 2, left // 2 : (left + width) // 2]
        cv2.resize(chroma, (width // 2, height // 2), inner, 0, 0, how)
        return self._luma, self._chroma
