"""JSON for programs, to a file or to stdout."""

import json
from collections.abc import Mapping
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
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(target)
    except OSError as error:
        raise OutputError(
            f"cannot write {target} ({error.strerror})", "choose a folder that exists"
        ) from error
