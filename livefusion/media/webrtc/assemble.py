"""From RTP packets to coded pictures, each as soon as its last packet is there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CAPACITY = 1024
"""Packets that wait behind a gap, at most: two seconds of 720p at 5 Mbit/s."""

_CYCLE = 1 << 16
# A sender that starts afresh jumps further than packets ever overtake each other.
_MISORDER = 3000

_IDR, _SPS = 5, 7


@dataclass(frozen=True, slots=True)
class CodedPicture:
    """An H.264 access unit (Annex B), its RTP time at 90 kHz and when its first packet came, monotonic."""

    data: bytes
    rtp_time: int
    arrived_ns: int


@dataclass(slots=True)
class CodedPictures:
    """What one packet completed: several pictures where it fills a gap. aiortc sets ``timestamp`` anew."""

    pictures: list[CodedPicture]
    timestamp: int = 0


class PictureAssembler:
    """Orders packets, and withholds what cannot be decoded after a loss until the next key frame.

    A picture ends with the packet that carries the marker bit, or where the RTP time changes. aiortc's own
    jitter buffer ignores the marker and so gives a picture only when the next one begins: 33 ms later at
    30 fps. It also waits for a lost packet until 512 others came; here ``give_up`` skips it.

    It stands in for aiortc's ``JitterBuffer``: ``add`` gives what that gives. For one thread.
    """

    def __init__(
        self, now_ns: Callable[[], int], on_picture: Callable[[int, int], None] | None = None
    ) -> None:
        """``on_picture`` hears of each that begins: its RTP time, and when its first packet came."""
        self._now_ns = now_ns
        self._on_picture = on_picture
        self._waiting: dict[int, tuple[Any, int]] = {}
        self._next: int | None = None
        self._unit: list[Any] = []
        self._unit_ns = 0
        self._whole = True
        self._blocked_ns: int | None = None
        self.wants_key = True
        self.skipped = 0
        """Gaps that were given up."""

    @property
    def blocked_ns(self) -> int:
        """For how long, in nanoseconds, the next packet has been missing; 0 if it is not."""
        return 0 if self._blocked_ns is None else self._now_ns() - self._blocked_ns

    def add(self, packet: Any) -> tuple[bool, CodedPictures | None]:
        """Take a depayloaded packet: whether a key frame must be asked for, and the pictures it completes."""
        number = self._extend(packet.sequence_number)
        if self._next is None or self._next - number > _MISORDER:
            self._restart(number)
        assert self._next is not None
        if number < self._next:
            return False, None
        self._waiting[number] = (packet, self._now_ns())
        lost = number - self._next >= CAPACITY
        if lost:
            self.give_up()
        pictures = self._drain()
        return lost, CodedPictures(pictures, pictures[0].rtp_time) if pictures else None

    def give_up(self) -> bool:
        """Skip the gap that everything waits for; True if there was one: a key frame has to be asked for.

        What waits behind it comes with the next packet.
        """
        self._blocked_ns = None
        if not self._waiting:
            return False
        self._next = min(self._waiting)
        self.damage()
        self.skipped += 1
        return True

    def damage(self) -> None:
        """Withhold pictures until the next key frame: one before it is lost, or cannot be decoded."""
        self._unit, self._whole = [], False
        self.wants_key = True

    def _extend(self, number: int) -> int:
        """The number counted on across its wraps, near the one that is expected."""
        if self._next is None:
            return number
        step = (number - self._next) % _CYCLE
        return self._next + (step if step < _CYCLE // 2 else step - _CYCLE)

    def _restart(self, number: int) -> None:
        self._waiting.clear()
        self._unit, self._whole, self.wants_key = [], True, True
        self._next, self._blocked_ns = number, None

    def _drain(self) -> list[CodedPicture]:
        """The pictures that are complete in front of the first gap."""
        assert self._next is not None
        pictures: list[CodedPicture] = []
        before = self._next
        while (entry := self._waiting.pop(self._next, None)) is not None:
            self._next += 1
            packet, arrived_ns = entry
            if self._unit and self._unit[-1].timestamp != packet.timestamp:
                self._finish(pictures)
            if not self._unit:
                self._unit_ns = arrived_ns
                if self._on_picture is not None:
                    self._on_picture(packet.timestamp, arrived_ns)
            self._unit.append(packet)
            if packet.marker:
                self._finish(pictures)
        self._note_gap(moved=self._next != before)
        return pictures

    def _finish(self, pictures: list[CodedPicture]) -> None:
        unit, whole = self._unit, self._whole
        self._unit, self._whole = [], True
        data = b"".join(packet._data for packet in unit)
        if not data or not whole:
            return
        if self.wants_key and not is_key(data):
            return
        self.wants_key = False
        pictures.append(CodedPicture(data, unit[0].timestamp, self._unit_ns))

    def _note_gap(self, *, moved: bool) -> None:
        if not self._waiting:
            self._blocked_ns = None
        elif self._blocked_ns is None or moved:
            self._blocked_ns = self._now_ns()


def is_key(unit: bytes) -> bool:
    """Whether decoding can start at an access unit: it has its parameters and an instantaneous refresh."""
    kinds = set()
    start = unit.find(b"\x00\x00\x01")
    while start >= 0 and start + 3 < len(unit):
        kind = unit[start + 3] & 0x1F
        kinds.add(kind)
        if kind in {1, _IDR}:  # slices come last
            break
        start = unit.find(b"\x00\x00\x01", start + 3)
    return _IDR in kinds and _SPS in kinds
