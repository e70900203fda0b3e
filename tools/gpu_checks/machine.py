"""The GPU under test, and how time is taken on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.library import current
from livefusion.devices.cuda.stream import CudaStream

_SPIN = """
extern "C" __global__ void spin(long long nanoseconds) {
    long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}
"""
_COVER_NS = 30_000_000
"""The GPU is kept busy for so long while the host launches what is to be timed."""
_FEWEST_REPEATS = 3
_NOT_READY = 600


@dataclass(slots=True)
class Machine:
    """CuPy (or what stands in for it) and a device on it; ``fast`` shortens every check.

    ``done`` rows of a check are there already: it goes on after them.
    """

    cupy: Any
    fast: bool = False
    stands_in: bool = False
    done: int = 0
    device: CudaDevice = field(init=False)
    _spin: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.device = CudaDevice(self.cupy)
        if not self.stands_in:
            self._spin = self.cupy.RawKernel(_SPIN, "spin")
            self.spin(self.stream("warm-up"), 1)
            self.device.synchronize()

    def stream(self, name: str, device: CudaDevice | None = None) -> CudaStream:
        """A stream of the device."""
        stream = (device or self.device).stream(name)
        assert isinstance(stream, CudaStream)
        return stream

    def spin(self, stream: CudaStream, nanoseconds: int) -> None:
        """Keep a stream busy."""
        stream.launcher.flush()
        if self._spin is not None:
            with current(self.cupy, stream):
                self._spin((1,), (1,), (np.int64(nanoseconds),))

    def device_ms(self, work: Callable[[], None], stream: CudaStream, repeats: int = 50) -> float:
        """Milliseconds of the GPU's time for one run of ``work``.

        The stream is kept busy while the host puts all runs on it, so that the cost of launching is hidden;
        fewer runs are timed where the host takes too long, or waits as it does for the pages of a graph's
        arguments. The runs find their data in the L2 cache if they are small enough.
        """
        work()
        stream.synchronize()
        if self._spin is None:
            return self._wall_ms(work, stream, repeats)
        while True:
            milliseconds, hidden = self._timed(work, stream, repeats)
            if hidden or repeats <= _FEWEST_REPEATS:
                return milliseconds
            repeats = max(repeats // 2, _FEWEST_REPEATS)

    def host_us(self, work: Callable[[], None], stream: CudaStream, repeats: int = 200) -> float:
        """Microseconds of the host's time to put one run of ``work`` on the stream: the median."""
        times = []
        for _ in range(repeats):
            begun = time.perf_counter_ns()
            work()
            stream.launcher.flush()
            times.append(time.perf_counter_ns() - begun)
            stream.synchronize()
        return float(np.median(times)) / 1e3

    def _timed(self, work: Callable[[], None], stream: CudaStream, repeats: int) -> tuple[float, bool]:
        """Milliseconds of a run, and whether the host was done before the first one began."""
        runtime = self.cupy.cuda.runtime
        begin, end = (runtime.eventCreateWithFlags(0) for _ in range(2))
        self.spin(stream, _COVER_NS)
        runtime.eventRecord(begin, stream.handle)
        for _ in range(repeats):
            work()
        stream.launcher.flush()
        runtime.eventRecord(end, stream.handle)
        hidden = runtime.eventQuery(begin) == _NOT_READY
        runtime.eventSynchronize(end)
        milliseconds = float(runtime.eventElapsedTime(begin, end)) / repeats
        runtime.eventDestroy(begin)
        runtime.eventDestroy(end)
        return milliseconds, hidden

    def _wall_ms(self, work: Callable[[], None], stream: CudaStream, repeats: int) -> float:
        begun = time.perf_counter_ns()
        for _ in range(repeats):
            work()
        stream.synchronize()
        return (time.perf_counter_ns() - begun) / 1e6 / repeats


def upload(device: CudaDevice, stream: CudaStream, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator with their arrays on the device."""
    there = {}
    for name, value in arguments.items():
        there[name] = value
        if isinstance(value, np.ndarray):
            there[name] = device.empty(value.shape, value.dtype)
            device.copy(there[name], value, stream)
    return there
