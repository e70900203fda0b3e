"""Streams: order under mischief, copies beside kernels, memory of a warm path."""

from __future__ import annotations

import gc
import random
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpu_checks.frames import FramePath, pinned_picture
from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, at_most, exactly
from livefusion.core.geometry import Size
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.stream import CudaStream
from livefusion.devices.device import Event

_SIZE = Size(1280, 720)
_LONGEST_SPIN = 200_000
"""Nanoseconds: several stages' worth of work."""
_UNDER_WAY = 3
"""Frames on the GPU at once, in fewer slots, so that a slot is wanted before its readers are through."""
_ROUNDS = 3


def check(machine: Machine) -> Iterator[Row]:
    """The three figures."""
    yield from _race(machine)
    yield from _overlap(machine)
    yield from _allocations(machine)


def _race(machine: Machine) -> list[Row]:
    """The same pictures with stages held up at random as without: what a missing wait would spoil."""
    frames = 8 if machine.fast else 300
    # Graphs off and on: both ways of launching have to keep the order.
    rows = []
    for captures in (False, True):
        device = CudaDevice(machine.cupy, captures=captures)
        calm = _pictures(FramePath(machine, _SIZE, device, frames=_UNDER_WAY), frames, wait=True)
        rng = random.Random(3)

        def hold_up(stream: CudaStream, rng: random.Random = rng) -> None:
            if rng.random() < 0.5:
                machine.spin(stream, rng.randrange(_LONGEST_SPIN))

        path = FramePath(machine, _SIZE, device, hold_up, frames=_UNDER_WAY)
        held_up = _pictures(path, frames, wait=False)
        wrong = sum(not np.array_equal(a, b) for a, b in zip(calm, held_up, strict=True))
        how = "as graphs" if captures else "one by one"
        rows.append(exactly("streams", f"frames of {frames} spoilt by random delays, {how}", wrong, 0))
    return rows


def _pictures(path: FramePath, frames: int, *, wait: bool) -> list[Any]:
    """Checksums of every picture and crop; without ``wait`` several frames are under way at once."""
    sources = [pinned_picture(path.device, path.size, seed) for seed in range(4)]
    sums: list[Any] = []
    pending: deque[Event] = deque()
    for index in range(frames + _UNDER_WAY):
        if len(pending) == _UNDER_WAY or index >= frames:
            pending.popleft().synchronize()
            sums.append(_sum(*path.results(index - _UNDER_WAY)))
        if index < frames:
            place = (100 + 2 * (index % 50), 60 + 2 * (index % 30))
            pending.append(path.put(sources[index % 4], place))
        if wait:
            path.device.synchronize()
    return sums


def _sum(picture: np.ndarray[Any, Any], crop: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Row and column sums: any wrong byte changes one of each."""
    wide = picture.astype(np.uint32)
    columns = crop.view(np.uint32).reshape(-1, crop.shape[-1]).sum(axis=0, dtype=np.uint64)
    return np.concatenate([wide.sum(axis=0), wide.sum(axis=1), columns])


def _overlap(machine: Machine) -> list[Row]:
    """Copies from pinned memory and kernels at once, against one after the other."""
    if machine.stands_in:
        return [Row("streams", "pinned copies beside kernels", "needs a GPU")]
    device, size = machine.device, 1 << 26
    copying, working = machine.stream("copy"), machine.stream("work")
    pinned, target = device.pinned((size,), np.uint8), device.empty((size,), np.uint8)
    copy_ms = machine.device_ms(lambda: device.copy(target, pinned, copying), copying, 5)
    spin_ms = copy_ms  # of all lengths the one that gains most from running at once
    begun = time.perf_counter_ns()
    for _ in range(5):
        device.copy(target, pinned, copying)
        machine.spin(working, int(spin_ms * 1e6))
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
    calls, lost = machine.device.allocations, []
    frames = 10 if machine.fast else 300
    for _ in range(_ROUNDS):
        free = machine.cupy.cuda.runtime.memGetInfo()[0]
        run(frames // _ROUNDS)
        lost.append(free - machine.cupy.cuda.runtime.memGetInfo()[0])
    return [
        exactly(
            "streams", f"allocations in {frames} frames of a warm path", machine.device.allocations - calls, 0
        ),
        # Other processes take memory too, and what is lost with each frame is lost in every round.
        exactly("streams", "bytes of the GPU's memory lost in each third", max(0, min(lost)), 0),
    ]
