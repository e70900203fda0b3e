"""Memory of a GPU, and pinned memory of the host, that is never taken back while a stream may use it."""

import math
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
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

    @property
    def quiet(self) -> AbstractContextManager[Any, Any]:
        """Held by whoever records on streams of other threads."""
        ...


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
        limit: float = math.inf,
    ) -> None:
        self._context = context
        self._take = take
        self._give_back = give_back
        self._limit = limit
        self._limbo: deque[tuple[int, int]] = deque()
        self._settling: deque[_Settling] = deque()
        self.used = 0
        self.peak = 0
        self.allocations = 0

    def allocate(self, size: int) -> Block:
        """New memory. ``OutOfMemoryError`` beyond the limit; CuPy's errors where CUDA refuses."""
        size = max(size, 1)
        with self._context.quiet:
            self._settle()
            if self._exceeds(size):
                self._settle(wait=True)
            if self._exceeds(size):
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
        """Give back what lies in limbo, however long streams take to pass."""
        with self._context.quiet:
            self._settle(wait=True)

    def _exceeds(self, size: int) -> bool:
        return self.used + size > self._limit

    def _settle(self, *, wait: bool = False) -> None:
        self._mark_dropped()
        while self._settling and self._has_settled(self._settling[0], wait):
            settled = self._settling.popleft()
            for event in settled.events:
                self._context.events.give_back(event)
            for address, size in settled.blocks:
                self.used -= size
                self._give_back(address)

    def _mark_dropped(self) -> None:
        """Record where every stream is now: beyond that nothing uses what has been let go so far."""
        dropped = [self._limbo.popleft() for _ in range(len(self._limbo))]
        if not dropped:
            return
        settling = _Settling(dropped, [])
        try:
            for stream in tuple(self._context.handles):  # other threads may be opening more
                settling.events.append(self._context.events.take())
                self._context.runtime.eventRecord(settling.events[-1], stream)
        except BaseException:  # raised again: what was let go must not be lost, whatever happens
            self._limbo.extend(dropped)
            raise
        self._settling.append(settling)

    def _has_settled(self, settling: _Settling, wait: bool) -> bool:
        if wait:
            for event in settling.events:
                self._context.runtime.eventSynchronize(event)
            return True
        return all(is_past(self._context.runtime, event) for event in settling.events)
