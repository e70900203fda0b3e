"""JSON for programs, to a file or to stdout."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from livefusion.cli.console import Console
from livefusion.core.errors import OutputError


def write_json(target: Path, document: Mapping[str, Any], console: Console) -> None:
    """Write a document to a file in one step, or to stdout if ``target`` is ``-``.

    ``OutputError`` if the file cannot be written.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if str(target) == "-":
        console.result(text)
        return
    part = target.with_name(f".{target.name}.part")
    try:
        # A byte of a file name that is no UTF-8 becomes \udcXX, which JSON reads as what Python had.
        part.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        part.replace(target)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise OutputError(f"cannot write {target} ({error.strerror})", "choose another folder") from error
