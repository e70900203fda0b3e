"""Several kernels sent as one captured CUDA graph.

A graph keeps its kernels and their grids, while a frame's addresses and numbers change. So the kernels of a
graph find their arguments in a page of device memory, which is filled by one copy before each replay; and
grids are rounded up a little, so that a face that moves or grows keeps its graph: kernels check their bounds
themselves.
"""

import ctypes
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from livefusion.core.errors import OutOfMemoryError
from livefusion.devices.cuda.context import CudaContext
from livefusion.devices.cuda.events import EventPool
from livefusion.devices.cuda.memory import Block
from livefusion.devices.kernel import Extent, Kernel

_log = logging.getLogger(__name__)

FEWEST = 4
"""A graph costs about as much as three or four launches (15 µs against 4–6 µs each)."""
_USES_BEFORE_CAPTURE = 3
"""A sequence that was seen so often will come again."""
_FAILURES = 3
"""Captures that may fail, as they do where a library waits for the whole GPU meanwhile."""
_MOST_GRAPHS = 32
_PAGE = 16384
"""Bytes for the arguments of a hundred kernels or so: more than ten faces take."""
_STAGINGS = 4
"""Replays of one graph under way at once, before the host waits."""
_ALIGNMENT = 16

Launch = tuple[Kernel, Extent, bytes]
"""A kernel, its extent, and its packed arguments."""
PutAt = Callable[[Kernel, Extent, int], None]
"""Puts a kernel on the stream, over a grid, that finds its arguments at an address."""
_Key = tuple[tuple[str, Extent], ...]


@dataclass(slots=True, eq=False)
class _Staging:
    """Pinned memory for the arguments of one replay, and the event behind the copy that reads it."""

    block: Block
    used: int | None = None


@dataclass(slots=True, eq=False)
class _Captured:
    """A graph that can be launched; with the last reference to it, it is retired, for it may be running."""

    executable: int
    page: Block
    stagings: list[_Staging]
    retired: deque[int]
    events: EventPool
    next: int = 0

    def __del__(self) -> None:
        self.retired.append(self.executable)
        for staging in self.stagings:
            if staging.used is not None:
                self.events.give_back(staging.used)


@dataclass(slots=True, eq=False)
class _Sequence:
    uses: int = 0
    captured: _Captured | None = None
    offsets: list[int] = field(default_factory=list)


class Replay:
    """Sends the launches of one stream; captures what comes again and again.

    Captures happen on the live path, once for each sequence, and take about a millisecond; if several
    fail, this stream launches one by one from then on, and says so.
    """

    def __init__(self, context: CudaContext, handle: int) -> None:
        self._context = context
        self._runtime = context.runtime
        self._refusals: tuple[type[Exception], ...] = (*context.errors, OutOfMemoryError)
        self._handle = handle
        self._sequences: OrderedDict[_Key, _Sequence] = OrderedDict()
        self._failures = 0
        self.replays = 0

    @property
    def _works(self) -> bool:
        return self._failures < _FAILURES

    def send(self, launches: list[Launch], put_at: PutAt) -> bool:
        """Replay the graph of these launches; False if there is none (yet)."""
        if len(launches) < FEWEST or not self._works:
            return False
        key = tuple((kernel.name, _roomy(kernel.grid(extent))) for kernel, extent, _ in launches)
        sequence = self._find(key)
        if sequence.captured is None:
            sequence.uses += 1
            if sequence.uses <= _USES_BEFORE_CAPTURE or not self._capture(sequence, launches, key, put_at):
                return False
        assert sequence.captured is not None
        self._replay(sequence.captured, sequence.offsets, launches)
        return True

    def _find(self, key: _Key) -> _Sequence:
        sequence = self._sequences.pop(key, None) or _Sequence()
        self._sequences[key] = sequence
        while len(self._sequences) > _MOST_GRAPHS:
            self._sequences.popitem(last=False)
        return sequence

    def _capture(self, sequence: _Sequence, launches: list[Launch], key: _Key, put_at: PutAt) -> bool:
        offset, offsets = 0, []
        for _, _, packed in launches:
            offsets.append(offset)
            offset += -(-len(packed) // _ALIGNMENT) * _ALIGNMENT
        if offset > _PAGE:
            return False
        context = self._context
        if not context.quiet.acquire(blocking=False):
            return False  # somebody waits for the GPU or captures something larger: the next time will do
        try:
            context.destroy_retired_graphs()
            page = context.memory.allocate(_PAGE)
            stagings = [_Staging(context.pinned.allocate(_PAGE)) for _ in range(_STAGINGS)]
            executable = self._record(launches, key, [page.address + place for place in offsets], put_at)
        except self._refusals as error:
            sequence.uses = 0
            self._failures += 1
            if not self._works:
                _log.warning("kernels are launched one by one, because they cannot be captured (%s)", error)
            return False
        finally:
            context.quiet.release()
        sequence.captured = _Captured(executable, page, stagings, context.retired_graphs, context.events)
        sequence.offsets = offsets
        return True

    def _record(self, launches: list[Launch], key: _Key, arguments: list[int], put_at: PutAt) -> int:
        with self._context.capture(self._handle) as graphs:
            for (kernel, _, _), (_, grid), place in zip(launches, key, arguments, strict=True):
                put_at(kernel, grid, place)
        try:
            return int(self._runtime.graphInstantiate(graphs[0]))
        finally:
            self._runtime.graphDestroy(graphs[0])

    def _replay(self, captured: _Captured, offsets: list[int], launches: list[Launch]) -> None:
        staging = captured.stagings[captured.next]
        captured.next = (captured.next + 1) % len(captured.stagings)
        if staging.used is not None:
            self._runtime.eventSynchronize(staging.used)
        else:
            staging.used = self._context.events.take()
        place = staging.block.address
        for offset, (_, _, packed) in zip(offsets, launches, strict=True):
            ctypes.memmove(place + offset, packed, len(packed))
        size = offsets[-1] + len(launches[-1][2])
        runtime = self._runtime
        runtime.memcpyAsync(captured.page.address, place, size, runtime.memcpyHostToDevice, self._handle)
        runtime.eventRecord(staging.used, self._handle)
        runtime.graphLaunch(captured.executable, self._handle)
        self.replays += 1


@lru_cache(maxsize=4096)
def _roomy(grid: Extent) -> Extent:
    x, y, z = grid
    return _step(x), _step(y), z


def _step(blocks: int) -> int:
    """Rounded up to two leading binary digits: 1, 2, 3, 4, 6, 8, 12, 16, …: at most half as many again."""
    unit = 1 << max(blocks.bit_length() - 2, 0)
    return -(-blocks // unit) * unit
