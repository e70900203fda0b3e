"""``livefusion identity check``: what photos score as sources, and what would make them better."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.cli.table import table
from livefusion.core.errors import IdentityError

if TYPE_CHECKING:
    from livefusion.pipeline.photo_check import CheckedPhoto

SCHEMA = "livefusion.photos/1"
# Columns of the table, and the criteria of which each shows the worst.
_COLUMNS = {
    "pose": ("pose", "tilt"),
    "calm": ("mouth", "smile", "eyes", "brows"),
    "light": ("exposure", "highlights", "side light", "colour", "shadows"),
    "sharp": ("sharpness",),
    "size": ("size",),
    "bare": ("fringe", "hair", "glasses", "cover"),
}


def describe_check(check: CommandParser) -> None:
    """Add what the action takes."""
    check.add_argument("photos", metavar="PHOTO", nargs="+", type=Path, help="photos to look at, or a folder")
    check.add_argument("--json", type=json_target, metavar="FILE", help="write all scores as JSON (- stdout)")


def check(arguments: argparse.Namespace, photos: Sequence[Path], console: Console) -> int:
    """Print what photos score, the best first. ``IdentityError`` if none can be used."""
    from livefusion.pipeline.photo_check import check_photos

    checked = check_photos(photos)
    usable = any(each.usable for each in checked)
    alone = not usable and len(checked) == 1
    if not alone and str(arguments.json) != "-":
        console.result(_report(checked))
    if arguments.json is not None:  # after the report: a file that cannot be written must not lose it
        write_json(arguments.json, _document(checked), console)
    if alone:
        raise IdentityError(*_split(checked[0].refusal))
    if not usable:
        raise IdentityError(f"none of {len(checked)} photos can be used", "what is wrong with each is above")
    return 0


def _split(refusal: str) -> tuple[str, str]:
    problem, _, remedy = refusal.partition(": ")
    return problem, remedy


def _report(checked: Sequence["CheckedPhoto"]) -> str:
    scored = [each for each in checked if each.score is not None]
    lines = []
    if scored:
        rows = [_row(each) for each in scored]
        numbers = range(1, len(_COLUMNS) + 2)
        lines.append(table(("photo, best first", "overall", *_COLUMNS), rows, right=numbers))
    for each in checked:
        if each.refusal:
            lines.append(f"{each.path.name} cannot be used: {each.refusal}")
        elif each.score is not None:
            lines += [str(advice) for advice in each.score.advice] or [f"{each.path.name}: good as it is"]
    return "\n".join(lines)


def _row(each: "CheckedPhoto") -> tuple[str, ...]:
    assert each.score is not None, "only those are shown"
    groups = (str(each.score.least(names)) for names in _COLUMNS.values())
    return (each.path.name, str(each.score.overall), *groups)


def _document(checked: Sequence["CheckedPhoto"]) -> dict[str, Any]:
    return {"schema": SCHEMA, "photos": [_entry(each) for each in checked]}


def _entry(each: "CheckedPhoto") -> dict[str, Any]:
    known = each.score.as_json() if each.score is not None else {"photo": each.path.name, "usable": False}
    return known | ({"refusal": each.refusal} if each.refusal else {})
