"""What CUDA's runtime does for LiveFusion, on host memory: streams, events, copies, kernels and graphs.

With a seed, nothing runs before somebody synchronises, and then in a random order that heeds streams and
events alone, so that memory which is used too early or given back too soon shows as wrong bytes.
"""

import ctypes
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from livefusion.devices.kernel import Extent
from livefusion.testing.host_kernels import pointers_of
from livefusion.testing.host_twin import build_twin

Work = Callable[[], None]
_FICKLENESS = 0.1
"""How likely another stream goes on after each operation."""
FRESH, FREED = 0xA5, 0xDD
"""What memory holds before the first write and after it was given back."""


@dataclass(eq=False, slots=True)
class _Operation:
    work: Work
    after: tuple["_Operation", ...]
    done: bool = False


@dataclass(eq=False, slots=True)
class _Queue:
    waiting: deque[_Operation] = field(default_factory=deque)
    last: _Operation | None = None
    awaited: list[_Operation] = field(default_factory=list)
    capture: list[Work] | None = None


class HostCuda:
    """Streams and events are numbers, memory is addresses, as in CUDA. One lock guards all."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = None if seed is None else random.Random(seed)
        self._twin = ctypes.CDLL(str(build_twin()))
        self._queues: dict[int, _Queue] = {}
        self._favourite: _Queue | None = None
        self._events: dict[int, _Operation | None] = {}
        self._graphs: dict[int, list[Work]] = {}
        self._functions: dict[int, str] = {}
        self._memory: dict[int, np.ndarray[Any, np.dtype[np.uint8]]] = {}
        self._adopted: dict[int, int] = {}
        self._graveyard: list[np.ndarray[Any, np.dtype[np.uint8]]] = []
        self._number = 0x1000
        self.reads_pageable = False
        self.launches = 0
        self.calls = 0

    @property
    def in_use(self) -> int:
        """Bytes that were taken and not given back."""
        return sum(block.size for block in self._memory.values())

    def new_stream(self) -> int:
        """A stream."""
        handle = self._next()
        self._queues[handle] = _Queue()
        return handle

    def new_event(self) -> int:
        """An event that is past."""
        handle = self._next()
        self._events[handle] = None
        return handle

    def record(self, event: int, stream: int) -> None:
        """Move an event behind everything on a stream: it is never past at once."""
        self.put(stream, _nothing)
        self._events[event] = self._queues[stream].last

    def wait(self, stream: int, event: int) -> None:
        """Let a stream wait for an event."""
        point = self._events[event]
        if point is not None and not point.done:
            self._queues[stream].awaited.append(point)

    def is_past(self, event: int) -> bool:
        """Whether the work before an event is done; the GPU goes on while somebody asks."""
        point = self._events[event]
        if point is not None and not point.done and self._random is not None and self._random.random() < 0.5:
            self._step()
        return point is None or point.done

    def reach(self, point: _Operation | None) -> None:
        """Run operations, in a random order that streams and events allow, until ``point`` is done."""
        assert self._random is not None or point is None or point.done
        while point is not None and not point.done:
            self._step()

    def synchronize_event(self, event: int) -> None:
        """Run what lies before an event."""
        self.reach(self._events[event])

    def synchronize_stream(self, stream: int) -> None:
        """Run what is on a stream."""
        self.reach(self._queues[stream].last)

    def synchronize(self) -> None:
        """Run everything."""
        for stream in self._queues:
            self.synchronize_stream(stream)

    def take(self, size: int) -> int:
        """Memory of the device or of the host, full of ``FRESH``."""
        block = np.full(size + 256, FRESH, np.uint8)
        start = -block.ctypes.data % 256
        address: int = block.ctypes.data + start
        self._memory[address] = block[start : start + size]
        return address

    def give_back(self, address: int) -> None:
        """Free memory: whoever still uses it sees ``FREED``."""
        block = self._memory.pop(address)
        block.fill(FREED)
        self._graveyard.append(block)

    def adopt(self, address: int, size: int) -> None:
        """Let foreign memory pass for the device's from now on."""
        self._adopted[address] = size

    def reaches(self, address: int) -> bool:
        """Whether kernels may use an address: on a GPU any other one ends the process's context."""
        foreign = (place <= address < place + size for place, size in self._adopted.items())
        return self.owns(address) or any(foreign)

    def owns(self, address: int) -> bool:
        """Whether an address lies in memory of the device or in pinned memory."""
        return any(place <= address < place + block.size for place, block in self._memory.items())

    def put(self, stream: int, work: Work) -> None:
        """Put work on a stream, or into the graph that is captured from it."""
        queue = self._queues[stream]
        if queue.capture is not None:
            queue.capture.append(work)
            return
        before = [*queue.awaited, *([queue.last] if queue.last else [])]
        operation = _Operation(work, tuple(one for one in before if not one.done))
        queue.awaited, queue.last = [], operation
        if self._random is None:
            work()
            operation.done = True
        else:
            queue.waiting.append(operation)

    def begin_capture(self, stream: int) -> None:
        """Collect instead of running."""
        self._queues[stream].capture = []

    def end_capture(self, stream: int) -> int:
        """The graph of what was collected."""
        works, self._queues[stream].capture = self._queues[stream].capture, None
        assert works is not None, "no capture was begun"
        handle = self._next()
        self._graphs[handle] = works
        return handle

    def graph(self, handle: int) -> list[Work]:
        """The work of a graph."""
        return self._graphs[handle]

    def function(self, name: str) -> int:
        """Handle of a kernel, ``…_at`` for the one that takes the address of its arguments."""
        getattr(self._twin, name.removesuffix("_at"))
        handle = self._next()
        self._functions[handle] = name
        return handle

    def launch(self, function: int, grid: Extent, block: Extent, stream: int, pointers: int) -> None:
        """Put a kernel on a stream; ``pointers`` is the address of the array of its arguments' addresses."""
        name = self._functions[function]
        size = getattr(self._twin, f"{name.removesuffix('_at')}_size")()
        arguments = ctypes.c_void_p.from_address(pointers).value
        assert arguments is not None
        threads = tuple(blocks * side for blocks, side in zip(grid, block, strict=True))
        kernel = getattr(self._twin, name.removesuffix("_at"))
        kernel.argtypes, kernel.restype = [ctypes.c_void_p], None
        self.launches += 1
        if name.endswith("_at"):
            place = ctypes.c_void_p.from_address(arguments).value
            assert place is not None
            self.put(stream, lambda: self._run(name, kernel, place, threads))
            return
        packed = ctypes.create_string_buffer(ctypes.string_at(arguments, size), size)
        self.put(stream, lambda: self._run(name, kernel, ctypes.addressof(packed), threads))

    def copy(self, to: int, source: int, size: int, stream: int) -> None:
        """Copy in stream order; pageable memory is read at once, and is written before this returns.

        Unless ``reads_pageable``: then it is as good as pinned memory.
        """
        if not self.reads_pageable and not self.reaches(source):
            held = ctypes.create_string_buffer(ctypes.string_at(source, size), size)
            self.put(stream, lambda: _move(to, ctypes.addressof(held), size))
            return
        self.put(stream, lambda: _move(to, source, size))
        if not self.reads_pageable and not self.reaches(to):
            self.synchronize_stream(stream)

    def _run(self, name: str, kernel: Any, arguments: int, threads: tuple[int, ...]) -> None:
        extent = np.frombuffer(ctypes.string_at(arguments, 12), np.int32)
        # A grid too small would leave pixels out on a GPU; the twin runs over the extent whatever it is.
        assert all(there >= wanted for there, wanted in zip(threads, extent.tolist(), strict=True)), threads
        for place in pointers_of(name.removesuffix("_at")):
            address = ctypes.c_void_p.from_address(arguments + place).value
            assert address is None or self.reaches(address), f"{name} is given memory that is not the GPU's"
        kernel(arguments)

    def _step(self) -> None:
        assert self._random is not None
        ready = [queue for queue in self._queues.values() if self._is_ready(queue)]
        # One stream runs on for a while: chosen anew each time, none would ever be far ahead of the others.
        if self._favourite not in ready or self._random.random() < _FICKLENESS:
            self._favourite = self._random.choice(ready)
        operation = self._favourite.waiting.popleft()
        operation.work()
        operation.done = True

    def _is_ready(self, queue: _Queue) -> bool:
        return bool(queue.waiting) and all(one.done for one in queue.waiting[0].after)

    def _next(self) -> int:
        self._number += 1
        return self._number


def _nothing() -> None:
    pass


def _move(to: int, source: int, size: int) -> None:
    ctypes.memmove(to, source, size)
