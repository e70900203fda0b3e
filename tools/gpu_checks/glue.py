"""The kernels of a frame: launched one by one against sent as a captured graph."""

from __future__ import annotations

from gpu_checks.frames import FramePath, pinned_picture
from gpu_checks.machine import Machine
from gpu_checks.sheet import Row
from livefusion.core.geometry import Size
from livefusion.devices.cuda.device import CudaDevice

_SIZE = Size(1920, 1080)


def check(machine: Machine) -> list[Row]:
    """Host and device time of the render stage's kernels at 1080p, both ways."""
    rows = []
    for captures, name in ((False, "launched one by one"), (True, "as a captured graph")):
        device = CudaDevice(machine.cupy, captures=captures)
        path = FramePath(machine, _SIZE, device)
        buffer = path.upload(pinned_picture(device, _SIZE, 0))
        device.synchronize()

        def work(path: FramePath = path, buffer: object = buffer) -> None:
            path.draw(buffer, (300, 200))  # type: ignore[arg-type]

        for _ in range(8):
            work()
        host_us = machine.host_us(work, path.render, 10 if machine.fast else 200)
        device_ms = machine.device_ms(work, path.render, 3 if machine.fast else 50)
        rows.append(
            Row(
                "glue",
                f"render kernels of a frame, {name}",
                f"host {host_us:.0f}, GPU {device_ms * 1e3:.0f} µs",
            )
        )
    return rows
