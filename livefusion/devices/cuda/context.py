"""The primary context of one GPU: what all its streams share."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda.events import EventPool
from livefusion.devices.cuda.library import foreign_errors, translated
from livefusion.devices.cuda.memory import Arena
from livefusion.devices.cuda.module import load_kernels

MEMORY_SHARE = 0.8
"""Share of the memory that was free at the start which may be used: the codecs and networks need some too."""
FIRST_CAPABILITY = 75
"""Turing, the oldest architecture that CUDA 13 knows."""


class CudaContext:
    """Handles, events, memory and kernels of a GPU, opened once.

    ``runtime`` and ``driver`` are CuPy's thin layers over CUDA; ``errors`` is what they raise. ``quiet`` is
    held while a stream is captured, and by whoever records on or waits for streams of other threads: done to
    a stream in capture, that fails and spoils the capture.
    """

    def __init__(self, cupy: Any, index: int) -> None:
        self.cupy = cupy
        self.index = index
        self.runtime = cupy.cuda.runtime
        self.driver = cupy.cuda.driver
        self.errors = foreign_errors(cupy)
        self.handles: list[int] = []
        self.retired_graphs: deque[int] = deque()
        self.quiet = threading.RLock()
        self._idle: deque[int] = deque()
        try:
            self._open()
        except self.errors as error:
            raise translated(error, f"opening cuda:{index}") from error

    def enter(self) -> None:
        """Make this the calling thread's context.

        Threads have one each, and begin with that of the first GPU. What else runs in this thread, another
        graph or a library, may have left another one behind; where it did not, this takes 0.1 µs.
        """
        self.runtime.setDevice(self.index)

    def synchronize(self) -> None:
        """Wait until every stream is empty."""
        with self.quiet:
            self.runtime.deviceSynchronize()

    def take_stream(self) -> int:
        """A stream that does not wait for CUDA's default stream, perhaps one that was given back."""
        try:
            return self._idle.popleft()
        except IndexError:
            handle = int(self.runtime.streamCreateWithFlags(self.runtime.streamNonBlocking))
            self.handles.append(handle)
            return handle

    def give_back_stream(self, handle: int) -> None:
        """Let others have it; from any thread."""
        self._idle.append(handle)

    def destroy_retired_graphs(self) -> None:
        """Destroy the graphs that nobody will launch again, once they no longer run."""
        with self.quiet:
            retired = [self.retired_graphs.popleft() for _ in range(len(self.retired_graphs))]
            if retired:
                self.synchronize()
            for graph in retired:
                self.runtime.graphExecDestroy(graph)

    def trim(self) -> None:
        """Give unused memory back; everything has been synchronised."""
        self.destroy_retired_graphs()
        self.memory.trim()
        self.pinned.trim()
        if self._pools:
            self.runtime.streamSynchronize(self._allocating)
            self.runtime.memPoolTrimTo(self.runtime.deviceGetDefaultMemPool(self.index), 0)

    @contextmanager
    def capture(self, stream: int) -> Iterator[list[int]]:
        """Collect the kernels that the calling thread puts on a stream; afterwards the list holds the graph.

        A stream is left as it was if that fails. CuPy's errors; whoever has the graph destroys it.
        """
        graph: list[int] = []
        with self.quiet:
            self.runtime.streamBeginCapture(stream, self.runtime.streamCaptureModeThreadLocal)
            try:
                yield graph
            except BaseException:  # raised again: a capture that was begun must end, whatever happens
                with suppress(*self.errors):  # it ends all the same, and the first error is the one to tell
                    self.runtime.graphDestroy(self.runtime.streamEndCapture(stream))
                raise
            graph.append(int(self.runtime.streamEndCapture(stream)))

    def _open(self) -> None:
        self.enter()
        properties = self.runtime.getDeviceProperties(self.index)
        capability = properties["major"] * 10 + properties["minor"]
        name = properties["name"]
        self.description = f"{name.decode() if isinstance(name, bytes) else name} (sm_{capability})"
        if capability < FIRST_CAPABILITY:
            raise DeviceError(
                f"{self.description} is too old: CUDA 13 begins with sm_{FIRST_CAPABILITY}",
                "use --device cpu",
            )
        self.events = EventPool(self.runtime)
        self._allocating = self.take_stream()
        free, _ = self.runtime.memGetInfo()
        limit = int(free * MEMORY_SHARE)
        self._reads_pageable = bool(
            self.runtime.deviceGetAttribute(self.runtime.cudaDevAttrPageableMemoryAccess, self.index)
        )
        # Some virtual GPUs have no pools; there memory is taken and given back at once.
        self._pools = bool(
            self.runtime.deviceGetAttribute(self.runtime.cudaDevAttrMemoryPoolsSupported, self.index)
        )
        if self._pools:
            pool = self.runtime.deviceGetDefaultMemPool(self.index)
            # Below this the driver keeps what is freed instead of taking milliseconds to give it back.
            self.runtime.memPoolSetAttribute(pool, self.runtime.cudaMemPoolAttrReleaseThreshold, limit)
        self.memory = Arena(self, self._take_memory, self._return_memory, limit=limit)
        self.pinned = Arena(self, self._take_pinned, self.runtime.freeHost)
        self.kernels = load_kernels(self.cupy, str(capability))

    def is_pageable(self, address: int) -> bool:
        """Whether a copy may still be at work in memory of the host, which is not pinned, when CUDA returns.

        GPUs that share the host's page tables need no detour for it, so nothing is read or written at once.
        """
        if not self._reads_pageable:
            return False
        kind = self.runtime.pointerGetAttributes(address).type
        return bool(kind == self.runtime.memoryTypeUnregistered)

    def _take_memory(self, size: int) -> int:
        if not self._pools:
            return int(self.runtime.malloc(size))
        address = int(self.runtime.mallocAsync(size, self._allocating))
        # Then any stream may use it without knowing of this one. A warm live path allocates nothing.
        self.runtime.streamSynchronize(self._allocating)
        return address

    def _return_memory(self, address: int) -> None:
        if self._pools:
            self.runtime.freeAsync(address, self._allocating)
        else:
            self.runtime.free(address)

    def _take_pinned(self, size: int) -> int:
        return int(self.runtime.hostAlloc(size, self.runtime.hostAllocPortable))
