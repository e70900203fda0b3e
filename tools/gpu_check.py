"""Measure and prove on a real GPU what the tests prove without one. Takes less than eight minutes.

  python tools/gpu_check.py                         everything, as a table
  python tools/gpu_check.py --json gpu-check.json   and as JSON
  python tools/gpu_check.py --only operators,glue   some of it
  python tools/gpu_check.py --stand-in --fast       the checks themselves, on a machine without a GPU

It needs Python 3.11 or newer, NumPy and CuPy, and skips, with the reason, what needs more. Exit status 1 if a
figure misses its bar, 3 if there is no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "tools")]

from gpu_checks import codec, glue, graph, inventory, operators, paced, sanitizer, streams  # noqa: E402
from gpu_checks.machine import Machine  # noqa: E402
from gpu_checks.sheet import Row, SkippedError, write  # noqa: E402

from livefusion.core.errors import LiveFusionError  # noqa: E402

CHECKS = {
    "inventory": inventory.check,
    "operators": operators.check,
    "streams": streams.check,
    "glue": glue.check,
    "codec": codec.check,
    "paced": paced.check,
    "graph": graph.check,
    "sanitizer": sanitizer.check,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the checks and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the sheet as JSON")
    parser.add_argument("--only", default=",".join(CHECKS), metavar="A,B", help="these checks alone")
    parser.add_argument("--fast", action="store_true", help="small and short: do the checks work?")
    parser.add_argument("--stand-in", action="store_true", help="kernels on the host, no GPU")
    given = parser.parse_args(arguments)
    wanted = given.only.split(",")
    if strangers := set(wanted) - set(CHECKS):
        parser.error(f"there is no check {', '.join(sorted(strangers))}: use {', '.join(CHECKS)}")
    try:
        machine = Machine(_cupy(given.stand_in), fast=given.fast, stands_in=given.stand_in)
    except LiveFusionError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    rows, skipped = _run(machine, wanted)
    if given.json is not None:
        write(given.json, {"gpu": machine.device.description, "stand_in": given.stand_in}, rows, skipped)
    return 1 if any(row.passed is False for row in rows) else 0


def _run(machine: Machine, wanted: list[str]) -> tuple[list[Row], dict[str, str]]:
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    for name in wanted:
        begun = time.monotonic()
        try:
            found = CHECKS[name](machine)
        except SkippedError as reason:
            skipped[name] = str(reason)
            print(f"{name:<10} skipped: {reason}", flush=True)
            continue
        except Exception as error:  # border: what is measured last must not be lost to what fails first
            found = [Row(name, "the check failed", f"{type(error).__name__}: {error}", "", False)]
        for row in found:
            print(row, flush=True)
        print(f"{name:<10} took {time.monotonic() - begun:.1f} s", flush=True)
        rows += found
    return rows, skipped


def _cupy(stand_in: bool) -> Any:
    if stand_in:
        from livefusion.testing.host_cupy import HostCupy

        return HostCupy()
    from livefusion.devices.cuda import require_gpu

    return require_gpu(0)


if __name__ == "__main__":
    sys.exit(main())
