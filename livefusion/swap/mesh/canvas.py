"""The memory that meshes are drawn in: grown in steps, used again for every frame."""

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Region
from livefusion.devices.device import Array, Device, Event, Stream
from livefusion.swap.mesh.canonical import VERTEX_COUNT

STEP_PIXELS = 1 << 16
"""Memory grows by steps of so many pixels: a face that comes nearer would else grow it every frame."""
_STAGING_SLOTS = 3
"""As many frames may be under way on a device while the host fills the next slot."""


class PatchMemory:
    """The pixels of one track's patch, and the texture level it was drawn from last."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._capacity = 0
        self._pixels: Array = None
        self.level: int | None = None

    def view(self, region: Region) -> Array:
        """A contiguous (h, w, 4) uint8 array for a region."""
        pixels = region.width * region.height
        if pixels > self._capacity:
            self._capacity = _stepped(pixels)
            self._pixels = self._device.empty((self._capacity * 4,), np.uint8)
        return self._pixels[: pixels * 4].reshape(region.height, region.width, 4)


class _Slot:
    """One block on each side, so that one copy carries it all, and its parts."""

    def __init__(self, device: Device) -> None:
        size = 4 * VERTEX_COUNT
        self.host: npt.NDArray[np.float32] = device.pinned((size,), np.float32)
        self.device: Array = device.empty((size,), np.float32)
        self.host_parts = _parts(self.host)
        self.device_parts = _parts(self.device)
        self.used: Event | None = None


class VertexUpload:
    """Carries vertices, depths and weights to the device through pinned memory, without waiting for it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._next = 0
        self._slots = [_Slot(device) for _ in range(_STAGING_SLOTS)]

    def send(
        self, mesh: npt.NDArray[np.float32], weight: npt.NDArray[np.float32], region: Region, stream: Stream
    ) -> tuple[Array, Array, Array]:
        """The (468, 3) mesh in pixels of the region as vertices, depth and weight on the device."""
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        if slot.used is not None:
            slot.used.synchronize()
        vertices, depth, weights = slot.host_parts
        np.subtract(mesh[:, :2], (region.x, region.y), out=vertices, casting="same_kind")
        depth[:] = mesh[:, 2]
        weights[:] = weight
        self._device.copy(slot.device, slot.host, stream)
        slot.used = stream.record()
        return slot.device_parts


def _parts(block: Array) -> tuple[Array, Array, Array]:
    """(468, 2) vertices, (468,) depths and (468,) weights of a block."""
    vertices, depth = 2 * VERTEX_COUNT, 3 * VERTEX_COUNT
    return block[:vertices].reshape(VERTEX_COUNT, 2), block[vertices:depth], block[depth:]


def _stepped(pixels: int) -> int:
    return -(-pixels // STEP_PIXELS) * STEP_PIXELS
