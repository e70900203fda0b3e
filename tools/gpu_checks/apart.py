"""A check in a process of its own: what ends it or spoils the GPU's context leaves the others alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from gpu_checks.sheet import Row


@dataclass(slots=True)
class Found:
    """What a process told: ``finished`` unless it ended before its check did."""

    rows: list[Row] = field(default_factory=list)
    skipped: str | None = None
    gpu: str = ""
    finished: bool = False
    ending: str = ""


class Teller:
    """Writes what is found line by line, so that it is there whatever comes after."""

    def __init__(self, file: TextIO | None) -> None:
        self._file = file

    def tell(self, **said: Any) -> None:
        """``gpu``, ``row``, ``skipped`` or ``finished``."""
        if self._file is not None:
            self._file.write(json.dumps(said) + "\n")
            self._file.flush()

    def row(self, row: Row) -> None:
        """A figure."""
        self.tell(row=asdict(row))


def run(command: Sequence[str], patience: float) -> Found:
    """Run a check, which is told by ``--rows`` where to write; after so many seconds it is killed."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "rows")
        process = subprocess.Popen([*command, "--rows", str(told)], start_new_session=True)
        try:
            status = process.wait(patience)
            ending = f"exit status {status}" if status >= 0 else f"ended by signal {-status}"
        except subprocess.TimeoutExpired:
            ending = f"not done after {patience:.0f} s"
        finally:
            with suppress(ProcessLookupError):  # its children, too, should leave the GPU to the next check
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        found = _read(told)
    found.ending = ending
    return found


def _read(told: Path) -> Found:
    found = Found()
    for line in told.read_text(encoding="utf-8").splitlines() if told.exists() else ():
        said = json.loads(line)
        if "row" in said:
            found.rows.append(Row(**said["row"]))
        found.skipped = said.get("skipped", found.skipped)
        found.gpu = said.get("gpu", found.gpu)
        found.finished |= "finished" in said
    return found
