"""Slots for NV12 pictures, made once and used again and again: no allocation while the graph runs.

A slot goes back to its pool when the last ``DeviceBuffer`` that refers to it is gone, whichever way that
happens: delivered, dropped, replaced in a mailbox or lost to an exception. Nobody has to release anything.
A plane taken out of a buffer does not keep the slot: keep the buffer for as long as the plane is used.
"""

import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from livefusion.core.errors import OutOfMemoryError
from livefusion.core.geometry import Size
from livefusion.devices.device import Array, Device, Event, Stream

_READY = 8
"""Slots that a GPU's pool has from the start: as many pictures are under way in a graph that runs well."""


@dataclass(eq=False, slots=True)
class Slot:
    """Memory for one picture, and the work that must be over before somebody else may write into it."""

    index: int
    nv12: Array
    luma: Array
    chroma: Array
    holder: str = ""
    written: Event | None = None
    reads: dict[Stream, Event] = field(default_factory=dict)


class _Lease:
    """The right to use a slot; its end, by reference count, gives the slot back."""

    __slots__ = ("_free", "slot")

    def __init__(self, slot: Slot, free: deque[Slot]) -> None:
        self.slot = slot
        self._free = free

    def __del__(self) -> None:
        # This runs on any thread, even in the middle of ``acquire``: so an atomic append and never a lock.
        self._free.append(self.slot)


class DeviceBuffer:
    """One NV12 picture in a slot of a pool, and the event after which it may be read or changed.

    Whoever works on the pixels first makes its stream wait for ``ready``; a writer passes the picture on as
    ``after(event)``, a reader on another stream than the next writer's notes its end with ``read_until``.
    """

    __slots__ = ("_home", "_lease", "_ready")

    def __init__(self, home: Device, lease: _Lease, ready: Event | None) -> None:
        self._home = home
        self._lease = lease
        self._ready = ready

    @property
    def device(self) -> str:
        """Name of the device that holds the pixels."""
        return self._home.name

    @property
    def home(self) -> Device:
        """The device that holds the pixels, and alone can copy them: a graph may have changed to another."""
        return self._home

    @property
    def luma(self) -> Array:
        """(height, width) uint8 array of the device; rows may be padded."""
        return self._lease.slot.luma

    @property
    def chroma(self) -> Array:
        """(height/2, width/2, 2) uint8 array of the device: Cb, Cr; rows may be padded."""
        return self._lease.slot.chroma

    @property
    def nv12(self) -> Array:
        """Both planes as one (height·3/2, width) uint8 array, as encoders take it; rows may be padded."""
        return self._lease.slot.nv12

    @property
    def ready(self) -> Event | None:
        """The event after which the pixels may be read or changed; None when they already may."""
        return self._ready

    @property
    def slot(self) -> int:
        """Number of the slot within its pool."""
        return self._lease.slot.index

    def after(self, event: Any) -> "DeviceBuffer":
        """The same pixels, ready after ``event``, which must lie behind ``ready``."""
        self._lease.slot.written = event
        return DeviceBuffer(self._home, self._lease, event)

    def read_until(self, event: Event, stream: Stream) -> None:
        """Keep the next user of the slot from writing before ``event``, the end of a read on ``stream``.

        It lies behind the reads that were on the stream before, and takes their place: a slate or a repeated
        picture is read for hours, and would gather events for as long.
        """
        self._lease.slot.reads[stream] = event

    def __repr__(self) -> str:
        height, width = self.luma.shape
        return f"<DeviceBuffer {width}x{height} slot {self.slot} on {self.device}>"


class FramePool:
    """Up to ``limit`` picture slots of one even size, allocated when first needed and then kept.

    On a GPU, where that takes as long as a picture's work, most are allocated at once.
    ``limit`` covers the pictures that can be under way at once: one for each edge, stage and sink, and those
    a policy holds. Rows are padded to a multiple of ``row_alignment`` bytes. Several threads may share it.
    """

    def __init__(self, device: Device, size: Size, *, limit: int = 16, row_alignment: int = 1) -> None:
        if size != size.even or size.width <= 0 or size.height <= 0:
            raise ValueError(f"an NV12 picture has even sides, not {size}")
        self._device = device
        self._size = size
        self._limit = limit
        self._pitch = -(-size.width // row_alignment) * row_alignment
        self._slots: list[Slot] = []
        self._free: deque[Slot] = deque()
        self._taking = threading.Lock()
        if not device.shares_host_memory:
            self._slots += [self._allocate(index) for index in range(min(limit, _READY))]
            self._free.extend(self._slots)

    @property
    def size(self) -> Size:
        """Size of the pictures."""
        return self._size

    @property
    def allocated(self) -> int:
        """Slots that have memory."""
        return len(self._slots)

    @property
    def in_use(self) -> int:
        """Slots that somebody holds."""
        return len(self._slots) - len(self._free)

    def acquire(self, stream: Stream) -> DeviceBuffer:
        """A slot for a new picture, its content undefined, to be written on ``stream``.

        The stream is made to wait for whatever still reads or writes the slot's former picture. A writer that
        gives up half-way still calls ``after`` with the event behind what it has put on its stream.
        ``OutOfMemoryError`` if all slots are held, which means that somebody keeps frames for too long.
        """
        slot = self._take(stream.name)
        lease = _Lease(slot, self._free)  # first, so that a slot whose events raise is not lost
        for event in (*slot.reads.values(), slot.written):
            stream.wait(event)
        slot.written = None
        slot.reads.clear()
        slot.holder = stream.name
        return DeviceBuffer(self._device, lease, None)

    def _take(self, wanted_by: str) -> Slot:
        with self._taking:
            if self._free:
                # The slot that rested longest comes first: its readers are the likeliest to be through.
                return self._free.popleft()
            if len(self._slots) >= self._limit:
                raise OutOfMemoryError(
                    self._describe_leak(wanted_by), "a stage keeps frames it should let go"
                )
            self._slots.append(self._allocate(len(self._slots)))
            return self._slots[-1]

    def _allocate(self, index: int) -> Slot:
        width, height = self._size.width, self._size.height
        rows = self._device.empty((height * 3 // 2, self._pitch), "uint8")
        nv12 = rows[:, :width]
        return Slot(index, nv12, nv12[:height], nv12[height:].reshape(height // 2, width // 2, 2))

    def _describe_leak(self, wanted_by: str) -> str:
        holders = Counter(slot.holder for slot in self._slots)
        held = ", ".join(f"{count} taken by {name}" for name, count in holders.items())
        return f"{wanted_by} finds all {self._limit} pictures of {self._size} in use ({held})"
