"""What the checks found: rows for people, and the same as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class SkippedError(Exception):
    """A check that this machine cannot do, and why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure; ``passed`` is None where there is no bar to meet."""

    check: str
    what: str
    value: str
    bar: str = ""
    passed: bool | None = None

    def __str__(self) -> str:
        verdict = {True: "met", False: "MISSED", None: ""}[self.passed]
        return f"{self.check:<10} {self.what:<46} {self.value:>22}  {self.bar:<14} {verdict}".rstrip()


def at_most(check: str, what: str, value: float, bar: float, unit: str, *, digits: int = 3) -> Row:
    """A figure that must not exceed its bar; a number that is none exceeds it."""
    passed = math.isfinite(value) and value <= bar
    return Row(check, what, f"{value:.{digits}f} {unit}".strip(), f"≤ {bar:g} {unit}".strip(), passed)


def exactly(check: str, what: str, value: int, wanted: int) -> Row:
    """A count that must be met."""
    return Row(check, what, str(value), f"= {wanted}", value == wanted)


def write(path: Path, machine: Mapping[str, Any], rows: Sequence[Row], skipped: Mapping[str, str]) -> None:
    """The whole sheet as JSON."""
    document = {
        "schema": "livefusion.gpu-check/1",
        "machine": dict(machine),
        "rows": [asdict(row) for row in rows],
        "skipped": dict(skipped),
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
