"""A device that does everything as late and as disordered as the rules allow, and names each broken rule."""

import random
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import DeviceError
from livefusion.devices.cpu import aligned_empty
from livefusion.devices.device import Array, BodyKind, Operator, Stream, check_copy
from livefusion.testing.host_twin import HostTwin
from livefusion.testing.mutation import Mutation
from livefusion.testing.races import Clock, MemoryLog, Race, covers, merge
from livefusion.testing.simstream import Operation, SimEvent, SimStream

_POISON = 0xA5
"""What fresh memory holds: bright in a picture, and no sensible float."""


class SimDevice:
    """Host memory behind streams that run late, in a random order that heeds streams and events alone.

    Nothing runs before somebody synchronises; then the operations that must come first run, and by chance
    others that may. Every access to the device's memory is noted, and ``races`` names each pair that nothing
    orders, whatever order was drawn: a host read is ordered by ``synchronize`` alone. Host arrays given to an
    operator are copied at launch, as the parameters of a kernel are; an operator that writes into one is
    refused. Fresh memory is poisoned. Safe to use from several threads.

    ``kind`` says which bodies run; those for CUDA run on the host twin of their kernels.
    ``drop_wait=k`` ignores the k-th wait (from 0) that orders anything, ``drop_site`` all those of one place
    (``wait_sites``), to show that the test would notice; ``mutation`` counts both kinds. The host's own waits
    are among them.

    What any thread of the host has waited for is over for all of them, which hides a missing wait behind a
    lucky moment. With ``host_orders=False`` it orders only what that very thread reads, and writes into
    pinned memory: then every order between two streams has to be carried by an event, and each wait shows
    when it is dropped.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        kind: BodyKind = "cpu",
        drop_wait: int | None = None,
        drop_site: str | None = None,
        host_orders: bool = True,
    ) -> None:
        self.lock = threading.RLock()
        self.mutation = Mutation(drop_wait, drop_site)
        self._kind = kind
        self._twin = HostTwin() if kind == "cuda" else None
        self._random = random.Random(seed)
        self._streams: list[SimStream] = []
        self._log = MemoryLog()
        self._host_orders = host_orders
        self._seen_by_any: Clock = {}
        self._thread = threading.local()
        self._errors: list[tuple[Clock, Exception]] = []

    @property
    def name(self) -> str:
        """``sim``."""
        return "sim"

    @property
    def description(self) -> str:
        """``sim``."""
        return self.name

    @property
    def shares_host_memory(self) -> bool:
        """True for the ``cpu`` bodies; a simulated GPU has its results copied like a real one."""
        return self._kind != "cuda"

    @property
    def races(self) -> list[Race]:
        """The races so far, each once."""
        with self.lock:
            return list(self._log.races)

    def assert_no_races(self) -> None:
        """``AssertionError`` with every race."""
        races = self.races
        assert not races, "; ".join(str(race) for race in races)

    def stream(self, name: str) -> Stream:
        """A new stream."""
        with self.lock:
            stream = SimStream(self, len(self._streams), name)
            self._streams.append(stream)
            return stream

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Poisoned device memory."""
        return self._allocate(shape, dtype, "device")

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Poisoned host memory that is watched like the device's."""
        return self._allocate(shape, dtype, "pinned")

    def adopt(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: npt.DTypeLike
    ) -> Array:
        """A watched view of memory that a simulated library made with ``empty``, else of foreign memory."""
        with self.lock:
            return self._log.view_at(address, shape, strides, dtype)

    def trim(self) -> None:
        """Nothing is kept back."""

    def undisturbed(self) -> AbstractContextManager[None]:
        """Nothing could be disturbed."""
        return nullcontext()

    def memory_peak(self) -> int:
        """0: what is simulated lies in host memory."""
        return 0

    def stream_of(self, handle: int) -> SimStream:
        """The stream behind a handle."""
        with self.lock:
            return self._streams[handle - 1]

    def copy(self, dst: Array, src: Array, stream: Stream) -> None:
        """Copy later; pageable host memory is read now."""
        check_copy(dst, src)
        with self.lock:
            source = src.copy()
            if self._log.knows(src):
                source = src
                self._log.host_filled(src, self._seen_by_host)
            work = partial(np.copyto, dst, source)
            self._put(work, stream, reads={"source": src}, writes={"target": dst}, name="copy")

    def prepare(self, *operators: Operator) -> None:
        """Load the bodies."""
        for operator in operators:
            operator.body(self._kind)

    def launch(self, operator: Operator, arguments: Mapping[str, Any], stream: Stream) -> None:
        """Run the operator later, with the host arrays as they are now."""
        held = dict(arguments)
        with self.lock:
            for name, value in arguments.items():
                if isinstance(value, np.ndarray) and not self._log.knows(value):
                    if name in operator.writes:
                        raise DeviceError(
                            f"{operator.name} writes {name} into host memory", "use Device.empty"
                        )
                    held[name] = value.copy()
            reads = {name: arguments[name] for name in operator.reads}
            writes = {name: arguments[name] for name in operator.writes}
            work = partial(self._body(operator), **held)
            self._put(work, stream, reads=reads, writes=writes, name=operator.name)

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work later; the host memory it names is watched from now on."""
        with self.lock:
            for array in (*reads, *writes):
                self._log.register(array, "host")
            named_reads = {str(i): array for i, array in enumerate(reads)}
            named_writes = {str(i): array for i, array in enumerate(writes)}
            self._put(work, stream, reads=named_reads, writes=named_writes, name=name)

    def to_host(self, array: Array) -> npt.NDArray[Any]:
        """The array itself; a race if the host has not waited for what is written into it."""
        self.host_read(array)
        host: npt.NDArray[Any] = array
        return host

    def host_read(self, array: Array) -> None:
        """Note that the host reads the array now."""
        with self.lock:
            self._log.host_reads(array, self._seen_by_host)

    def host_write(self, array: Array) -> None:
        """Note that the host writes into the array now, or frees it."""
        with self.lock:
            self._log.host_writes(array, self._seen_by_host)

    def synchronize(self) -> None:
        """Run everything."""
        with self.lock:
            everything: Clock = {}
            for stream in self._streams:
                merge(everything, stream.clock)
            self.catch_up(everything)

    def wait(self, stream: SimStream, event: SimEvent) -> None:
        """Order a stream behind an event, unless this wait is left out."""
        with self.lock:
            self._order_behind_host(stream)
            if not self.mutation.skips(orders=not covers(stream.clock, event.clock)):
                merge(stream.clock, event.clock)

    def host_waits(self, clock: Clock) -> None:
        """Let the calling thread wait until all that ``clock`` counts is done, unless it is left out."""
        with self.lock:
            if not self.mutation.skips(orders=not covers(self._seen_by_host, clock)):
                self.catch_up(clock)

    def catch_up(self, clock: Clock) -> None:
        """Run at least what ``clock`` counts, then raise the first error of those operations."""
        with self.lock:
            eagerness = self._random.random()
            while wanted := [i for i, count in clock.items() if self._streams[i].done < count]:
                ready = [stream for stream in self._streams if self._is_ready(stream)]
                due = [stream for stream in ready if stream.index in wanted]
                if not due or self._random.random() < eagerness:
                    due = ready
                self._step(self._random.choice(due))
            merge(self._seen_by_host, clock)
            self._raise_error_within(clock)

    @property
    def _seen_by_host(self) -> Clock:
        """What the calling thread has waited for, or any thread where that makes no difference."""
        if self._host_orders:
            return self._seen_by_any
        seen: Clock = self._thread.__dict__.setdefault("seen", {})
        return seen

    def _body(self, operator: Operator) -> Callable[..., None]:
        body = operator.body(self._kind)
        return body if self._twin is None else partial(body, self._twin)

    def _allocate(self, shape: tuple[int, ...], dtype: npt.DTypeLike, kind: str) -> npt.NDArray[Any]:
        array = aligned_empty(shape, dtype)
        array.view(np.uint8)[...] = _POISON
        with self.lock:
            self._log.register(array, kind)
        return array

    def _put(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: Mapping[str, Array],
        writes: Mapping[str, Array],
        name: str,
    ) -> None:
        if not isinstance(stream, SimStream):
            raise DeviceError(f"{name} is put on a stream of another device", "use a stream of this device")
        self._order_behind_host(stream)
        stream.clock[stream.index] = stream.clock.get(stream.index, 0) + 1
        clock = dict(stream.clock)
        stream.queue.append(Operation(work, clock))
        for arrays, is_write in ((reads, False), (writes, True)):
            for argument, array in arrays.items():
                if is_write:
                    self._log.register(array, "host")
                if self._log.knows(array):
                    what = f"{stream.name}: {name}({argument})"
                    self._log.touch(array, what, stream.index, clock, writes=is_write)

    def _order_behind_host(self, stream: SimStream) -> None:
        if self._host_orders:
            merge(stream.clock, self._seen_by_host)

    def _is_ready(self, stream: SimStream) -> bool:
        if not stream.queue:
            return False
        needs = stream.queue[0].clock.items()
        return all(self._streams[i].done >= count for i, count in needs if i != stream.index)

    def _step(self, stream: SimStream) -> None:
        operation = stream.queue.popleft()
        try:
            operation.work()
        except Exception as error:  # border: raised again where the host waits, as a device does
            self._errors.append((operation.clock, error))
        stream.done += 1

    def _raise_error_within(self, clock: Clock) -> None:
        for entry in self._errors:
            if covers(clock, entry[0]):
                self._errors.remove(entry)
                raise entry[1]
