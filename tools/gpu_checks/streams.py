"""Streams: order under mischief, copies beside kernels, memory of a warm path."""

from __future__ import annotations

import gc
import random
import time
from typing import Any

import numpy as np

from gpu_checks.frames import FramePath, pinned_picture
from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, at_most, exactly
from livefusion.core.geometry import Size
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.stream import CudaStream

_SIZE = Size(1280, 720)
_LONGEST_SPIN = 400_000
"""Clock cycles, some 0.2 ms: several stages' worth of work."""


def check(machine: Machine) -> list[Row]:
    """The three figures."""
    return [*_race(machine), *_overlap(machine), *_allocations(machine)]


def _race(machine: Machine) -> list[Row]:
    """The same pictures with stages held up at random as without: what a missing wait would spoil."""
    frames = 8 if machine.fast else 300
    # Graphs off and on: both ways of launching have to keep the order.
    rows = []
    for captures in (False, True):
        device = CudaDevice(machine.cupy, captures=captures)
        calm = _pictures(machine, FramePath(machine, _SIZE, device), frames, wait=True)
        rng = random.Random(3)

        def hold_up(stream: CudaStream, rng: random.Random = rng) -> None:
            if rng.random() < 0.5:
                machine.spin(stream, rng.randrange(_LONGEST_SPIN))

        held_up = _pictures(machine, FramePath(machine, _SIZE, device, hold_up), frames, wait=False)
        wrong = sum(not np.array_equal(a, b) for a, b in zip(calm, held_up, strict=True))
        how = "as graphs" if captures else "one by one"
        rows.append(exactly("streams", f"frames of {frames} spoilt by random delays, {how}", wrong, 0))
    return rows


def _pictures(machine: Machine, path: FramePath, frames: int, *, wait: bool) -> list[Any]:
    """Checksums of every picture; without ``wait`` the next frame is on its way before the last is read."""
    sources = [pinned_picture(path.device, path.size, seed) for seed in range(4)]
    sums: list[Any] = []
    pending = None
    for index in range(frames):
        place = (100 + 2 * (index % 50), 60 + 2 * (index % 30))
        buffer = path.draw(path.look(path.upload(sources[index % 4]), place), place)
        if pending is not None:
            pending.synchronize()
            sums.append(_sum(path.out))
        pending = path.download(buffer)
        if wait:
            path.device.synchronize()
    assert pending is not None
    pending.synchronize()
    sums.append(_sum(path.out))
    return sums


def _sum(picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Row and column sums: any wrong byte changes one of each."""
    wide = picture.astype(np.uint32)
    return np.concatenate([wide.sum(axis=0), wide.sum(axis=1)])


def _overlap(machine: Machine) -> list[Row]:
    """Copies from pinned memory and kernels at once, against one after the other."""
    if machine.stands_in:
        return [Row("streams", "pinned copies beside kernels", "needs a GPU")]
    device, size = machine.device, 1 << 26
    copying, working = machine.stream("copy"), machine.stream("work")
    pinned, target = device.pinned((size,), np.uint8), device.empty((size,), np.uint8)
    copy_ms = machine.device_ms(lambda: device.copy(target, pinned, copying), copying, 5)
    cycles = 4_000_000
    spin_ms = machine.device_ms(lambda: machine.spin(working, cycles), working, 5)
    begun = time.perf_counter_ns()
    for _ in range(5):
        device.copy(target, pinned, copying)
        machine.spin(working, cycles)
    device.synchronize()
    both_ms = (time.perf_counter_ns() - begun) / 5e6
    rate = size / copy_ms / 1e6
    serial = copy_ms + spin_ms
    return [
        Row("streams", "pinned copy to the GPU", f"{rate:.1f} GB/s"),
        at_most("streams", "time of copy and kernel at once, of both in turn", both_ms / serial, 0.8, ""),
    ]


def _allocations(machine: Machine) -> list[Row]:
    """Calls for memory, and memory that is gone, over a warm path's frames."""
    path = FramePath(machine, _SIZE, machine.device)
    source = pinned_picture(machine.device, _SIZE, 0)

    def run(frames: int) -> None:
        for index in range(frames):
            path.put(source, (100 + 2 * (index % 50), 60)).synchronize()

    run(60)
    gc.collect()
    calls, free = machine.device.allocations, machine.cupy.cuda.runtime.memGetInfo()[0]
    frames = 10 if machine.fast else 300
    run(frames)
    lost = free - machine.cupy.cuda.runtime.memGetInfo()[0]
    return [
        exactly(
            "streams", f"allocations in {frames} frames of a warm path", machine.device.allocations - calls, 0
        ),
        exactly("streams", "bytes of the GPU's memory lost in them", max(0, lost), 0),
    ]
