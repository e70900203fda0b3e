"""The operators once more under compute-sanitizer, which finds every byte beyond an array."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, SkippedError

_PLACES = ("/usr/local/cuda/bin/compute-sanitizer",)
_PATIENCE = 120


def check(machine: Machine) -> list[Row]:
    """Errors that memcheck counts while the operators run at 720p."""
    tool = shutil.which("compute-sanitizer") or next((p for p in _PLACES if Path(p).is_file()), None)
    if machine.stands_in or tool is None:
        raise SkippedError("there is no compute-sanitizer")
    script = Path(__file__).parent.parent / "gpu_check.py"
    command = [tool, "--tool", "memcheck", "--error-exitcode", "99", sys.executable, str(script)]
    try:
        done = subprocess.run(
            [*command, "--here", "--fast", "--only", "operators"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SkippedError(f"not done after {_PATIENCE} s") from error
    last = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR SUMMARY" in line]
    said = last[-1].partition(":")[2].strip() if last else f"exit status {done.returncode}"
    return [Row("sanitizer", "memcheck of every operator", said, "0 errors", " 0 errors" in f" {said}")]
