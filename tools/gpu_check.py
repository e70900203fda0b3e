"""Measure and prove on a real GPU what the tests prove without one. Takes less than eight minutes.

  python tools/gpu_check.py                         everything, as a table
  python tools/gpu_check.py --json gpu-check.json   and as JSON
  python tools/gpu_check.py --only operators,glue   some of it
  python tools/gpu_check.py --stand-in --fast       the checks themselves, on a machine without a GPU

It needs Python 3.11 or newer, NumPy and CuPy, and skips, with the reason, what needs more. Each check has a
process of its own, for an error on the GPU spoils whatever its process does later. Exit status 1 if a figure
misses its bar, 3 if there is no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_ROOT), str(_ROOT / "tools")]

from gpu_checks import bare  # noqa: E402

bare.provide()

from gpu_checks import apart, codec, glue, graph, inventory, operators, paced, sanitizer, streams  # noqa: E402
from gpu_checks.machine import Machine  # noqa: E402
from gpu_checks.sheet import Row, SkippedError, write  # noqa: E402

from livefusion.core.errors import DeviceError, LiveFusionError  # noqa: E402

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
BUDGET_S = 470
_PATIENCE_S = {"operators": 150, "graph": 100, "sanitizer": 130}
_PATIENCE_OF_OTHERS_S = 75
_MOST_RESTARTS = 6
"""So often a check goes on, in a new process, after the operator that ended the last one."""


def main(arguments: list[str] | None = None) -> int:
    """Run the checks and tell."""
    given = _parser().parse_args(arguments)
    wanted = given.only.split(",")
    if strangers := set(wanted) - set(CHECKS):
        _parser().error(f"there is no check {', '.join(sorted(strangers))}: use {', '.join(CHECKS)}")
    try:
        if given.here or given.stand_in:
            gpu, rows, skipped = _run_here(given, wanted)
        else:
            gpu, rows, skipped = _run_apart(given, wanted)
    except LiveFusionError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    if given.json is not None:
        write(given.json, {"gpu": gpu, "stand_in": given.stand_in}, rows, skipped)
    return 1 if any(row.passed is False for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the sheet as JSON")
    parser.add_argument("--only", default=",".join(CHECKS), metavar="A,B", help="these checks alone")
    parser.add_argument("--fast", action="store_true", help="small and short: do the checks work?")
    parser.add_argument("--stand-in", action="store_true", help="kernels on the host, no GPU")
    parser.add_argument("--here", action="store_true", help="in this process")
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--done", type=int, default=0, help=argparse.SUPPRESS)
    return parser


Sheet = tuple[str, list[Row], dict[str, str]]


def _run_apart(given: argparse.Namespace, wanted: list[str]) -> Sheet:
    """Each check in a process, with the time that is left; ``DeviceError`` if there is no GPU."""
    _cupy(stand_in=False)
    gpu = ""
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    end = time.monotonic() + BUDGET_S
    for name in wanted:
        found = _check_apart(name, ["--fast"] if given.fast else [], end)
        if found.ending == f"exit status {DeviceError.exit_status}" and not found.gpu:
            raise SystemExit(DeviceError.exit_status)  # the process has said why
        gpu, rows = found.gpu or gpu, rows + found.rows
        if found.skipped is not None:
            skipped[name] = found.skipped
    return gpu, rows, skipped


def _check_apart(name: str, options: list[str], end: float) -> apart.Found:
    """One check; what ends its process is a row, after which the check goes on where it can."""
    whole = apart.Found()
    for _ in range(_MOST_RESTARTS):
        patience = min(_PATIENCE_S.get(name, _PATIENCE_OF_OTHERS_S), end - time.monotonic())
        if patience < 1:
            whole.skipped = "no time is left"
            print(f"{name:<10} skipped: {whole.skipped}", flush=True)
            break
        command = [
            sys.executable,
            __file__,
            "--here",
            "--only",
            name,
            "--done",
            str(len(whole.rows)),
            *options,
        ]
        found = apart.run(command, patience)
        whole.rows += found.rows
        whole.ending = found.ending
        whole.gpu, whole.skipped = found.gpu or whole.gpu, found.skipped
        if found.finished:
            break
        if not found.rows or found.rows[-1].passed is not False:
            whole.rows.append(Row(name, "the check ended early", found.ending, "", False))
            print(whole.rows[-1], flush=True)
        if name != "operators":
            break
    return whole


def _run_here(given: argparse.Namespace, wanted: list[str]) -> Sheet:
    machine = Machine(_cupy(given.stand_in), fast=given.fast, stands_in=given.stand_in, done=given.done)
    rows: list[Row] = []
    skipped: dict[str, str] = {}
    with given.rows.open("w", encoding="utf-8") if given.rows else nullcontext() as file:
        teller = apart.Teller(file)
        teller.tell(gpu=machine.device.description)
        for name in wanted:
            begun = time.monotonic()
            try:
                for row in CHECKS[name](machine):
                    _note(row, rows, teller)
            except SkippedError as reason:
                skipped[name] = str(reason)
                print(f"{name:<10} skipped: {reason}", flush=True)
                teller.tell(skipped=str(reason), finished=True)
                continue
            except Exception as error:  # border: what is measured last must not be lost to what fails first
                _note(
                    Row(name, "the check failed", f"{type(error).__name__}: {error}", "", False), rows, teller
                )
                continue
            print(f"{name:<10} took {time.monotonic() - begun:.1f} s", flush=True)
            teller.tell(finished=True)
    return machine.device.description, rows, skipped


def _note(row: Row, rows: list[Row], teller: apart.Teller) -> None:
    print(row, flush=True)
    rows.append(row)
    teller.row(row)


def _cupy(stand_in: bool) -> Any:
    if stand_in:
        from livefusion.testing.host_cupy import HostCupy

        return HostCupy()
    from livefusion.devices.cuda import require_gpu

    return require_gpu(0)


if __name__ == "__main__":
    sys.exit(main())
