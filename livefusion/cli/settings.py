"""``livefusion settings``: every setting, from the same fields that the flags are made of."""

import argparse
import json
from itertools import groupby
from typing import Any

from livefusion.cli.console import Console
from livefusion.cli.parser import CommandParser
from livefusion.core.catalogue import Setting, catalogue, group_meaning, settings_schema

INTRODUCTION = """\
# Settings

Each setting is a flag of `livefusion run` and `livefusion demo`, and a key of the file that `--config` reads.
Flags win over the file, the file over the defaults.

```toml
input = "camera:0"
output = ["vcam:", "show.mkv"]

[safety]
on_missing_face = "safe"
```
"""


def parser() -> CommandParser:
    """The parser of ``livefusion settings``."""
    made = CommandParser(
        "livefusion settings",
        "Every setting: flag, key for a configuration file, values and default.",
        "livefusion settings --reference > settings.md",
    )
    form = made.add_mutually_exclusive_group()
    form.add_argument("--reference", action="store_true", help="a reference page in Markdown (the default)")
    form.add_argument("--schema", action="store_true", help="a JSON schema")
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print the page or the schema."""
    if arguments.schema:
        console.result(json.dumps(settings_schema(), indent=2, ensure_ascii=False))
    else:
        console.result(reference_page())
    return 0


def reference_page() -> str:
    """All settings as Markdown tables, one for each group."""
    parts = [INTRODUCTION]
    for group, settings in groupby(catalogue(), lambda setting: setting.path[:-1]):
        if group:
            parts += [f"## {group[0]}", "", group_meaning(group[0]), ""]
        parts += ["| Flag | Key | Meaning | Values | Default |", "|---|---|---|---|---|"]
        parts += [_row(setting) for setting in settings]
        parts.append("")
    return "\n".join(parts).rstrip()


def _row(setting: Setting) -> str:
    cells = [
        f"`{setting.flag}`",
        f"`{setting.key}`",
        setting.meaning,
        setting.allowed,
        _default(setting.default),
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: Any) -> str:
    if value in (None, "", []):
        return "–"
    return f"`{json.dumps(value) if isinstance(value, bool) else value}`"
