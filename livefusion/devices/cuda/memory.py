"""Memory of a GPU, and pinned memory of the host, that is never taken back while a stream may use it."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from livefusion.core.errors import OutOfMemoryError
from livefusion.devices.cuda.events import EventPool
from livefusion.devices.cuda.library import is_past


class Owner(Protocol):
    """What an arena asks of its context."""

    runtime: Any
    events: EventPool
    handles: list[int]


class Block:
    """A piece of memory; with the last reference to it, it goes into limbo."""

    __slots__ = ("_limbo", "address", "size")

    def __init__(self, address: int, size: int, limbo: deque[tuple[int, int]]) -> None:
        self.address = address
        self.size = size
        self._limbo = limbo

    def __del__(self) -> None:
        # This runs on any thread, even in the middle of ``allocate``: an atomic append and never a lock.
        self._limbo.append((self.address, self.size))


@dataclass(frozen=True, slots=True)
class _Settling:
    blocks: list[tuple[int, int]]
    events: list[int]


class Arena:
    """Takes memory from CUDA, and gives it back when every stream has passed the moment it was let go.

    Python lets go of an array while the GPU may still be working on it, so what nobody refers to any more
    rests in limbo first. ``take`` and ``give_back`` are CUDA's calls; ``limit`` is in bytes.
    """

    def __init__(
        self,
        context: Owner,
        take: Callable[[int], int],
        give_back: Callable[[int], None],
        *,
        limit: int | None = None,
    ) -> None:
        self._context = context
        self._take = take
        self._give_back = give_back
        self._limit = limit
        self._limbo: deque[tuple[int, int]] = deque()
        self._settling: deque[_Settling] = deque()
        self._lock = threading.Lock()
        self.used = 0
        self.peak = 0
        self.allocations = 0

    def allocate(self, size: int) -> Block:
        """New memory. ``OutOfMemoryError`` beyond the limit; CuPy's errors where CUDA refuses."""
        size = max(size, 1)
        with self._lock:
            self._settle()
            if self._limit is not None and self.used + size > self._limit:
                raise OutOfMemoryError(
                    f"{size / 1e6:.0f} MB more would exceed the {self._limit / 1e6:.0f} MB that may be used",
                    "use a smaller size",
                )
            block = Block(self._take(size), size, self._limbo)
            self.used += size
            self.peak = max(self.peak, self.used)
            self.allocations += 1
            return block

    def trim(self) -> None:
        """Give back what lies in limbo; the device has been synchronised."""
        with self._lock:
            self._settle()

    def _settle(self) -> None:
        dropped = [self._limbo.popleft() for _ in range(len(self._limbo))]
        if dropped:
            self._settling.append(_Settling(dropped, self._mark(self._context.handles)))
        while self._settling and self._has_settled(self._settling[0]):
            settled = self._settling.popleft()
            for event in settled.events:
                self._context.events.give_back(event)
            for address, size in settled.blocks:
                self.used -= size
                self._give_back(address)

    def _mark(self, streams: Sequence[int]) -> list[int]:
        events = [self._context.events.take() for _ in streams]
        for event, stream in zip(events, streams, strict=True):
            self._context.runtime.eventRecord(event, stream)
        return events

    def _has_settled(self, settling: _Settling) -> bool:
        return all(is_past(self._context.runtime, event) for event in settling.events)
