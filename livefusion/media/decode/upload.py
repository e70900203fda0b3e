"""Decoded planes into a slot of the device."""

from typing import Any

import numpy as np

from livefusion.core.frame import Buffer
from livefusion.core.geometry import Size
from livefusion.devices.device import Device, Event, Stream
from livefusion.devices.pool import DeviceBuffer, FramePool
from livefusion.media.decode.orientation import Orientation, Plane
from livefusion.media.decode.planes import DecodedPlanes


class Uploader:
    """Fills slots of a pool on the decode stream.

    Where device memory is host memory the planes go straight into the slot, as declared work on the stream.
    Elsewhere they go through two pinned pictures in turn, so that filling one overlaps the copy of the other.
    """

    def __init__(self, device: Device, size: Size, stream: Stream, *, pool: FramePool, staged: bool) -> None:
        self._device = device
        self._stream = stream
        self._pool = pool
        self._staging = [_Staging(device, size) for _ in range(2)] if staged else []
        self._turned: Plane = np.empty((size.width // 2, size.height // 2, 2), np.uint8)

    def upload(self, planes: DecodedPlanes, orientation: Orientation) -> Buffer:
        """A slot with the upright picture, ready after the decode stream's work."""
        buffer = self._pool.acquire(self._stream)
        try:
            self._fill(buffer, planes, orientation)
        finally:
            # The pool must hear of what is on the stream even if the rest of it could not be put there.
            buffer = buffer.after(self._stream.record())
        return buffer

    def _fill(self, buffer: DeviceBuffer, planes: DecodedPlanes, orientation: Orientation) -> None:
        if self._staging:
            staging = self._staging.pop(0)
            self._staging.append(staging)
            staging.wait_until_copied()
            self._write(planes, orientation, staging.luma, staging.chroma)
            self._device.copy(buffer.luma, staging.luma, self._stream)
            self._device.copy(buffer.chroma, staging.chroma, self._stream)
            staging.copied = self._stream.record()
            return
        luma, chroma = buffer.luma, buffer.chroma
        self._device.run(
            lambda: self._write(planes, orientation, luma, chroma),
            self._stream,
            reads=(),
            writes=(luma, chroma),
            name="decode",
        )

    def _write(self, planes: DecodedPlanes, orientation: Orientation, luma: Plane, chroma: Plane) -> None:
        orientation.turn(planes.luma, luma)
        if orientation.upright:
            planes.write_chroma(chroma)
            return
        stored = self._turned if orientation.transpose else self._turned.reshape(chroma.shape)
        planes.write_chroma(stored)
        orientation.turn(stored, chroma)


class _Staging:
    """One picture in pinned memory and the copy that last read it."""

    def __init__(self, device: Device, size: Size) -> None:
        self.luma: Any = device.pinned((size.height, size.width), "uint8")
        self.chroma: Any = device.pinned((size.height // 2, size.width // 2, 2), "uint8")
        self.copied: Event | None = None

    def wait_until_copied(self) -> None:
        """Block until the device has read what was last put here."""
        if self.copied is not None:
            self.copied.synchronize()
