"""Every operator against NumPy, and the time it takes on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpu_checks.cases import CASES, SIZES, Arguments, Case
from gpu_checks.machine import Machine, upload
from gpu_checks.sheet import Row
from livefusion.core.errors import DeviceLostError
from livefusion.testing.traffic import bytes_moved

_CEILING_BYTES = 1 << 29


def check(machine: Machine) -> Iterator[Row]:
    """For each size and operator: its largest error, its time, and the time of a copy that moves as much.

    Pictures are small enough for the L2 cache of a large GPU, and so are such copies: a share of what the
    memory gives would flatter.
    """
    bound = _CEILING_BYTES >> (6 if machine.fast else 0)
    steps = [(case, size) for size in (("720p",) if machine.fast else SIZES) for case in CASES]
    if machine.done == 0:
        rate = bound / _copy_ms(machine, bound) / 1e6
        yield Row("operators", "a copy within the GPU, too large for L2", f"{rate:.0f} GB/s")
    for case, size in steps[max(machine.done - 1, 0) :]:
        try:
            yield _compared(machine, case, size)
        except DeviceLostError as error:  # nothing more can be had of this process
            raise DeviceLostError(f"{case.name}, {size}: {error}", error.remedy) from error
        except Exception as error:  # border: one operator fails, and the others are wanted all the more
            yield Row("operators", f"{case.name}, {size}", f"{type(error).__name__}: {error}", "", False)


def _copy_ms(machine: Machine, moved: int) -> float:
    """Milliseconds of a copy that reads and writes so many bytes together."""
    stream = machine.stream("copy")
    source, target = (machine.device.empty((max(moved // 2, 1),), np.uint8) for _ in range(2))
    return machine.device_ms(lambda: machine.device.copy(target, source, stream), stream, 20)


def _compared(machine: Machine, case: Case, size: str) -> Row:
    stream = machine.stream("operators")
    host = case.make(*SIZES[size], np.random.default_rng(1))
    there = upload(machine.device, stream, host)
    machine.device.launch(case.operator, there, stream)
    stream.synchronize()
    case.operator.body("reference")(**host)
    error, outliers = _difference(
        case, host, {name: machine.device.to_host(there[name]) for name in case.operator.writes}
    )
    repeats = 3 if machine.fast else 50
    milliseconds = machine.device_ms(
        lambda: machine.device.launch(case.operator, there, stream), stream, repeats
    )
    moved = bytes_moved(case.operator, there)
    share = _copy_ms(machine, moved) / milliseconds
    rate = f"{moved / milliseconds / 1e6:.0f} GB/s ({share:.0%} of a copy)"
    value = f"{error:.4g}, {milliseconds * 1e3:.1f} µs, {rate}"
    passed = error <= case.tolerance or outliers <= case.outliers
    return Row("operators", f"{case.name}, {size}", value, f"error ≤ {case.tolerance:g}", passed)


def _difference(case: Case, wanted: Arguments, got: dict[str, Any]) -> tuple[float, float]:
    """Largest error, and the share of elements that are farther off than the tolerance."""
    largest, farther, elements = 0.0, 0, 0
    for name in case.operator.writes:
        away = np.abs(wanted[name].astype(np.float64) - got[name].astype(np.float64))
        away = np.where(np.isnan(away), np.inf, away)
        largest = max(largest, float(away.max()))
        farther += int((away > case.tolerance).sum())
        elements += away.size
    return largest, farther / elements
