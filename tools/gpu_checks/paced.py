"""1080p60 for a thousand frames: each from its due time until its picture lies in host memory again."""

from __future__ import annotations

import gc
import math
import time

import numpy as np
import numpy.typing as npt

from gpu_checks import network
from gpu_checks.frames import FramePath, pinned_picture
from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, at_most
from livefusion.core.geometry import Size

Picture = npt.NDArray[np.uint8]
_SIZE, _FPS = Size(1920, 1080), 60
_WARM_UP = 120


def check(machine: Machine) -> list[Row]:
    """Latencies of the whole frame, and of the bare network."""
    net = network.build(machine)
    path = FramePath(machine, _SIZE, machine.device)
    bare = machine.device_ms(lambda: net.run(path.render), path.render, 3 if machine.fast else 50)
    source = pinned_picture(machine.device, _SIZE, 0)
    frames = 10 if machine.fast else 1000
    gc.collect()
    gc.freeze()
    for index in range(2 if machine.fast else _WARM_UP):
        _frame(path, net, source, index)
    latencies = _paced(path, net, source, frames)
    gc.unfreeze()
    bar = math.inf if machine.stands_in else 1000 / _FPS
    p50, p95, p99 = np.percentile(latencies, [50, 95, 99])
    return [
        Row("paced", f"bare network ({net.name})", f"{bare:.3f} ms"),
        Row("paced", f"frame of 1080p60, p50 of {frames}", f"{p50:.3f} ms"),
        at_most("paced", "frame of 1080p60, p95", float(p95), bar, "ms"),
        at_most("paced", "frame of 1080p60, p99", float(p99), bar, "ms"),
        Row("paced", "frame, p50, less the bare network", f"{p50 - bare:.3f} ms"),
    ]


def _paced(path: FramePath, net: network.Network, source: Picture, frames: int) -> list[float]:
    latencies = []
    begun = time.perf_counter()
    for index in range(frames):
        due = begun + index / _FPS
        time.sleep(max(0.0, due - time.perf_counter()))
        _frame(path, net, source, index)
        latencies.append((time.perf_counter() - due) * 1e3)
    return latencies


def _frame(path: FramePath, net: network.Network, source: Picture, index: int) -> None:
    place = (300 + 2 * (index % 100), 200 + 2 * (index % 40))
    buffer = path.look(path.upload(source), place)
    buffer.ready.synchronize()  # type: ignore[union-attr]  # landmarks are read here
    path.render.wait(buffer.ready)
    net.run(path.render)
    path.download(path.draw(buffer, place)).synchronize()
