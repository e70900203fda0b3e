"""The operators once more under compute-sanitizer, which finds every byte beyond an array."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_checks.machine import Machine
from gpu_checks.sheet import Row, SkippedError

_PLACES = ("/usr/local/cuda/bin/compute-sanitizer",)
_PATIENCE = 60
_NONE = re.compile(r"\b0 (errors|hazards)")
_THROUGH = "operators  took "
TOOLS = {
    "memcheck": "bytes beyond an array, of every operator",
    "racecheck": "lanes of a block that do not wait, of every operator",
}


def check(machine: Machine) -> Iterator[Row]:
    """Errors that are counted while the operators run at 720p."""
    tool = shutil.which("compute-sanitizer") or next((p for p in _PLACES if Path(p).is_file()), None)
    if machine.stands_in or tool is None:
        raise SkippedError("there is no compute-sanitizer")
    for name, what in TOOLS.items():
        yield Row("sanitizer", f"{name}: {what}", *_errors(tool, name))


def _errors(tool: str, name: str) -> tuple[str, str, bool | None]:
    """What was said, what should have been, and whether it was; undecided if there was not time enough."""
    script = Path(__file__).parent.parent / "gpu_check.py"
    command = [tool, "--tool", name, sys.executable, str(script), "--here", "--fast", "--only", "operators"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {_PATIENCE} s", "0 errors", None
    last = [line for line in (done.stdout + done.stderr).splitlines() if "SUMMARY" in line]
    if not last or _THROUGH not in done.stdout:  # no errors are none if nothing ran
        return f"the operators did not run through: exit status {done.returncode}", "0 errors", False
    said = last[-1].partition("SUMMARY:")[2].strip()
    return said, "0 errors", bool(_NONE.match(said))
