"""``livefusion models``: which networks ship, under which licence, and whether their files are whole."""

import argparse

from livefusion.cli.console import Console
from livefusion.cli.parser import CommandParser
from livefusion.cli.table import table
from livefusion.core.errors import ModelError


def parser() -> CommandParser:
    """The parser of ``livefusion models``."""
    made = CommandParser(
        "livefusion models",
        "The networks that ship with LiveFusion. Nothing is ever downloaded.",
        "livefusion models check",
    )
    made.add_argument(
        "action",
        choices=("list", "check"),
        help="show them (with -v where they come from), or compare every file's sha256",
    )
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """List or check; ``ModelError`` if a file is missing or damaged."""
    if arguments.action == "list":
        return _list(console, getattr(arguments, "verbose", 0) > 0)
    return _check(console)


def _list(console: Console, with_source: bool) -> int:
    from livefusion.inference.registry import ModelRegistry

    head = ["name", "role", "MB", "licence"]
    entries = list(ModelRegistry.load().values())
    rows = [[entry.name, entry.role, f"{entry.size_bytes / 1e6:.2f}", entry.licence] for entry in entries]
    if with_source:
        head.append("source")
        rows = [[*row, entry.source] for row, entry in zip(rows, entries, strict=True)]
    console.result(table(head, rows, right={2}))
    return 0


def _check(console: Console) -> int:
    from livefusion.inference.registry import ModelRegistry

    checks = ModelRegistry.load().check_all()
    for check in checks:
        console.result(f"{'ok     ' if check.passed else 'damaged'}  {check.entry.name}")
    failed = [check for check in checks if not check.passed]
    if failed:
        raise ModelError(failed[0].problem)
    return 0
