"""JSON for programs, to a file or to stdout."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from livefusion.cli.console import Console
from livefusion.core.files import obstacle, write_whole

STDOUT = Path("-")


def json_target(text: str) -> Path:
    """What follows ``--json``: a file, or ``-`` for stdout.

    ``OutputError`` if it cannot be written, which is better known before the work than after it.
    """
    path = Path(text)
    if path != STDOUT and (problem := obstacle(path)):
        raise problem
    return path


def write_json(target: Path, document: Mapping[str, Any], console: Console) -> None:
    """Write a document to a file in one step, or to stdout if ``target`` is ``-``.

    ``OutputError`` if the file cannot be written.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if target == STDOUT:
        console.result(text)
        return
    # A byte of a file name that is no UTF-8 becomes \udcXX, which JSON reads as what Python had.
    write_whole(target, (text + "\n").encode("utf-8", errors="backslashreplace"))
