"""The GPU under test, and how time is taken on it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.stream import CudaStream

_SPIN = """
extern "C" __global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
}
"""


@dataclass(slots=True)
class Machine:
    """CuPy (or what stands in for it) and a device on it; ``fast`` shortens every check."""

    cupy: Any
    fast: bool = False
    stands_in: bool = False
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

    def spin(self, stream: CudaStream, cycles: int) -> None:
        """Keep a stream busy for so many clock cycles (1.5 to 2 million are a millisecond)."""
        stream.launcher.flush()
        if self._spin is not None:
            with self.cupy.cuda.Stream.from_external(stream):
                self._spin((1,), (1,), (np.int64(cycles),))

    def device_ms(self, work: Callable[[], None], stream: CudaStream, repeats: int = 50) -> float:
        """Milliseconds of the GPU's time for one run of ``work``.

        The stream is kept busy while the host puts all runs on it, so that the cost of launching is hidden.
        """
        work()
        stream.synchronize()
        if self._spin is None:
            return self._wall_ms(work, stream, repeats)
        runtime = self.cupy.cuda.runtime
        begin, end = (runtime.eventCreateWithFlags(0) for _ in range(2))
        self.spin(stream, 10_000_000)
        runtime.eventRecord(begin, stream.handle)
        for _ in range(repeats):
            work()
        stream.launcher.flush()
        runtime.eventRecord(end, stream.handle)
        runtime.eventSynchronize(end)
        milliseconds = float(runtime.eventElapsedTime(begin, end)) / repeats
        runtime.eventDestroy(begin)
        runtime.eventDestroy(end)
        return milliseconds

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
