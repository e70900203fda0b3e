"""Every operator against NumPy, and the time it takes on the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_checks.cases import CASES, SIZES, Arguments, Case
from gpu_checks.machine import Machine, upload
from gpu_checks.sheet import Row
from livefusion.testing.traffic import bytes_moved

_CEILING_BYTES = 1 << 28


def check(machine: Machine) -> list[Row]:
    """For each size and operator: its largest error, its time, and its share of what a copy moves."""
    ceiling = _copy_ceiling(machine)
    rows = [Row("operators", "a copy within the GPU", f"{ceiling:.0f} GB/s")]
    for size in ("720p",) if machine.fast else SIZES:
        rows += [_compared(machine, case, size, ceiling) for case in CASES]
    return rows


def _copy_ceiling(machine: Machine) -> float:
    """GB/s, read and written together."""
    size = _CEILING_BYTES >> (6 if machine.fast else 0)
    stream = machine.stream("copy")
    source, target = (machine.device.empty((size,), np.uint8) for _ in range(2))
    milliseconds = machine.device_ms(lambda: machine.device.copy(target, source, stream), stream, 20)
    return 2 * size / milliseconds / 1e6


def _compared(machine: Machine, case: Case, size: str, ceiling: float) -> Row:
    stream = machine.stream("operators")
    host = case.make(*SIZES[size], np.random.default_rng(1))
    there = upload(machine.device, stream, host)
    machine.device.launch(case.operator, there, stream)
    stream.synchronize()
    case.operator.body("reference")(**host)
    error, share = _difference(
        case, host, {name: machine.device.to_host(there[name]) for name in case.operator.writes}
    )
    repeats = 3 if machine.fast else 50
    milliseconds = machine.device_ms(
        lambda: machine.device.launch(case.operator, there, stream), stream, repeats
    )
    rate = bytes_moved(case.operator, there) / milliseconds / 1e6
    value = f"{error:.4g}, {milliseconds * 1e3:.1f} µs, {rate:.0f} GB/s ({rate / ceiling:.0%})"
    passed = error <= case.tolerance or share <= case.outliers
    return Row("operators", f"{case.name}, {size}", value, f"error ≤ {case.tolerance:g}", passed)


def _difference(case: Case, wanted: Arguments, got: dict[str, Any]) -> tuple[float, float]:
    """Largest error, and the share of elements that are farther off than the tolerance."""
    largest, farther, elements = 0.0, 0, 0
    for name in case.operator.writes:
        if name == "zbuffer":
            continue  # scratch
        away = np.abs(wanted[name].astype(np.float64) - got[name].astype(np.float64))
        away = np.where(np.isnan(away), np.inf, away)
        largest = max(largest, float(away.max()))
        farther += int((away > case.tolerance).sum())
        elements += away.size
    return largest, farther / elements
