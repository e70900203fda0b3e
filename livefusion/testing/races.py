"""Who touched which memory, and whether anything ordered them: vector clocks over streams.

A clock says for each stream how many of its operations lie before a point. One operation happens before
another if the other's clock counts it. Two accesses to overlapping memory race when at least one writes and
neither happens before the other.
"""

import weakref
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.devices.device import host_view

Clock = dict[int, int]
Memory = npt.NDArray[Any]


def merge(clock: Clock, other: Clock) -> None:
    """Make ``clock`` count all that ``other`` counts."""
    for stream, count in other.items():
        clock[stream] = max(clock.get(stream, 0), count)


def covers(clock: Clock, other: Clock) -> bool:
    """True if ``clock`` counts all that ``other`` counts."""
    return all(clock.get(stream, 0) >= count for stream, count in other.items())


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that nothing orders: ``stream: operation(argument)`` each, and the memory they share."""

    first: str
    second: str
    memory: str

    def __str__(self) -> str:
        return f"{self.second} does not wait for {self.first} on {self.memory}"


@dataclass(frozen=True, slots=True)
class Access:
    """One operation's touch of some bytes."""

    what: str
    stream: int
    count: int
    low: int
    high: int
    writes: bool

    def before(self, clock: Clock) -> bool:
        """True if a point with this clock lies after the access."""
        return clock.get(self.stream, 0) >= self.count

    def conflicts(self, other: "Access") -> bool:
        """True if the order of the two accesses matters."""
        return (self.writes or other.writes) and self.low < other.high and other.low < self.high


@dataclass(eq=False, slots=True)
class Block:
    """One allocation, the accesses to it that still matter, and what the host had put into its parts."""

    label: str
    pinned: bool = False
    accesses: list[Access] = field(default_factory=list)
    contents: dict[tuple[int, int], int] = field(default_factory=dict)


def owner_of(array: Memory) -> Memory:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class MemoryLog:
    """The accesses to every allocation of a device, and the races among them. Not safe for threads."""

    def __init__(self) -> None:
        self.races: list[Race] = []
        self._blocks: dict[int, Block] = {}
        self._owners: dict[int, weakref.ref[Memory]] = {}
        self._made = 0

    def register(self, array: Memory, kind: str) -> None:
        """Watch the memory of an array from now until it is freed."""
        owner = owner_of(array)
        key = id(owner)
        if key not in self._blocks:
            shape = "x".join(str(side) for side in array.shape)
            self._blocks[key] = Block(f"{kind} memory {self._made} ({shape} {array.dtype})", kind == "pinned")
            self._made += 1
            self._owners[key] = weakref.ref(owner)
            weakref.finalize(owner, self._forget, key).atexit = False

    def knows(self, array: Memory) -> bool:
        """True if the memory of the array is watched."""
        return id(owner_of(array)) in self._blocks

    def view_at(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Memory:
        """An array over an address: a view of the watched allocation that holds it, if one does."""
        for reference in list(self._owners.values()):
            owner = reference()
            if owner is None:
                continue
            low, high = np.lib.array_utils.byte_bounds(owner)
            if low <= address < high:
                return np.ndarray(shape, dtype, buffer=owner, offset=address - low, strides=strides)
        return host_view(address, shape, strides, dtype)

    def touch(self, array: Memory, what: str, stream: int, clock: Clock, *, writes: bool) -> None:
        """Note an access by the last operation that ``clock`` counts on ``stream``, and any race it makes."""
        if array.size == 0:
            return
        block = self._blocks[id(owner_of(array))]
        low, high = np.lib.array_utils.byte_bounds(array)
        access = Access(what, stream, clock.get(stream, 0), low, high, writes)
        kept = []
        for earlier in block.accesses:
            ordered = earlier.before(clock)
            if not ordered and earlier.conflicts(access):
                self._report(Race(earlier.what, what, block.label))
            # What comes after an access that covers an earlier one and matters as much comes after both.
            covered = low <= earlier.low and earlier.high <= high and (writes or not earlier.writes)
            if not (ordered and covered):
                kept.append(earlier)
        block.accesses = [*kept, access]

    def host_reads(self, array: Memory, seen: Clock) -> None:
        """Note a race for each write into the array whose end is not among what the host has ``seen``."""
        if array.size and self.knows(array):
            self._host_touches(array, seen, writes=False)

    def host_writes(self, array: Memory, seen: Clock) -> None:
        """Note a race for each access to the array whose end is not among what the host has ``seen``."""
        if array.size and self.knows(array):
            self._host_touches(array, seen, writes=True)

    def host_filled(self, array: Memory, seen: Clock) -> None:
        """Note what the host has done to pinned memory that is about to be copied to the device.

        If it holds something else than at its last copy, the host wrote, and races with each access whose end
        is not among what the host has ``seen``.
        """
        block = self._blocks[id(owner_of(array))]
        if array.size == 0 or not block.pinned:
            return
        content = zlib.crc32(array.tobytes())
        before = block.contents.get(place := np.lib.array_utils.byte_bounds(array))
        block.contents[place] = content
        if before is not None and before != content:
            self._host_touches(array, seen, writes=True)

    def _host_touches(self, array: Memory, seen: Clock, *, writes: bool) -> None:
        block = self._blocks[id(owner_of(array))]
        low, high = np.lib.array_utils.byte_bounds(array)
        touch = Access("host: write" if writes else "host: read", -1, 0, low, high, writes)
        for earlier in block.accesses:
            if earlier.conflicts(touch) and not earlier.before(seen):
                self._report(Race(earlier.what, touch.what, block.label))

    def _forget(self, key: int) -> None:
        self._blocks.pop(key, None)
        self._owners.pop(key, None)

    def _report(self, race: Race) -> None:
        if race not in self.races:
            self.races.append(race)
