"""``livefusion identity suggest``: which built-in face hides a performer best."""

import argparse
from typing import TYPE_CHECKING, Any

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.cli.progress import tell_on
from livefusion.cli.table import table
from livefusion.core.catalogue import catalogue

if TYPE_CHECKING:
    from livefusion.evaluation.suggest import Suggestion, Tried

SCHEMA = "livefusion.suggestion/1"
ABOUT = """Which built-in face hides you best? Some pictures of INPUT in which a face is
seen (of a camera some seconds, of a file its first minute) get one persona after
the other, as `run` would put it on, and SFace says how much of you is left: from
a cosine of 0.363 on it takes two faces for one person. The one to choose leaves
least of you among those that the result becomes. It holds for your face in this
light, and for SFace: people who know you see hair, jaw and voice as well. The
pictures are not kept."""
_OFFERED = frozenset({"size", "fps", "duration"})
_HEAD = ("persona, hides best first", "left of you", "at most", "taken for you", "like the persona")


def describe_suggest(suggest: CommandParser) -> None:
    """Add what the action takes."""
    suggest.add_argument("input", metavar="INPUT", help="camera:0, a video file, a photo, or performer:")
    suggest.add_argument(
        "--json", type=json_target, metavar="FILE", help="write the figures as JSON (- stdout)"
    )
    others = [one.key for one in catalogue() if one.path[0] != "swap" and one.key not in _OFFERED]
    add_settings(suggest, leave_out=others)


def suggest(arguments: argparse.Namespace, console: Console) -> int:
    """Try every persona on, print what is left of the performer, and say which one to choose."""
    from livefusion.evaluation.suggest import suggest as try_on
    from livefusion.pipeline.identities import IdentityLibrary

    settings = settings_from(arguments).model_copy(update={"input": arguments.input, "output": ()})
    try:
        found = try_on(settings, IdentityLibrary(), tell_on(console))
    finally:
        console.status("")
    if str(arguments.json) != "-":
        rows = [_row(one) for one in found.tried]
        console.result(f"{table(_HEAD, rows, right=range(1, len(_HEAD)))}\n\n{advice(found)}")
    if arguments.json is not None:  # after the report: a file that cannot be written must not lose it
        write_json(arguments.json, _document(arguments.input, found), console)
    return 0


def advice(found: "Suggestion") -> str:
    """Which persona to choose, and how well it hides."""
    from livefusion.evaluation.suggest import LEAST_SOURCE, MOST_PERFORMER
    from livefusion.faces.embed import SAME_PERSON

    chosen = found.chosen
    where = f"in {found.pictures} pictures" if found.pictures > 1 else "in one picture"
    if chosen is None:
        return (
            f"None: {where} the result reaches a cosine of {LEAST_SOURCE:.2f} to no persona; "
            f"{found.tried[0].name} leaves least of you. Come nearer or into better light."
        )
    said = f"Choose {chosen.name} (-s {chosen.name}): {chosen.left:.2f} of you is left {where}, "
    if chosen.left <= MOST_PERFORMER:
        return f"{said}below {MOST_PERFORMER:.2f}, which we aim at, and {SAME_PERSON}, SFace's threshold."
    if chosen.left < SAME_PERSON:
        return (
            f"{said}below {SAME_PERSON}, SFace's threshold, but above {MOST_PERFORMER:.2f}, which we aim at."
        )
    return f"{said}which is not below {SAME_PERSON}: SFace still takes the result for you."


def _row(one: "Tried") -> tuple[str, ...]:
    cosines = (one.performer.mean, one.performer.worst)
    return (
        one.name,
        *(_told(cosine) for cosine in cosines),
        f"{one.told_share:.0%}",
        _told(one.source.mean) + ("" if one.becomes else " (too little)"),
    )


def _told(cosine: float | None) -> str:
    return "–" if cosine is None else f"{cosine:.3f}"


def _document(source: str, found: "Suggestion") -> dict[str, Any]:
    from livefusion.evaluation.suggest import LEAST_SOURCE, MOST_PERFORMER
    from livefusion.faces.embed import SAME_PERSON
    from livefusion.media.sources.uri import redact

    chosen = found.chosen
    return {
        "schema": SCHEMA,
        "input": redact(source),
        "pictures": found.pictures,
        "faces": found.faces,
        "suggested": chosen.name if chosen else None,
        "below_threshold": chosen is not None and chosen.left < SAME_PERSON,
        "below_aim": chosen is not None and chosen.left <= MOST_PERFORMER,
        "aims": {"threshold": SAME_PERSON, "cos_performer": MOST_PERFORMER, "cos_source": LEAST_SOURCE},
        "personas": [
            {
                "name": one.name,
                "cos_performer": one.performer.as_json(),
                "cos_source": one.source.as_json(),
                "is_performer_share": round(one.told_share, 4),
            }
            for one in found.tried
        ],
    }
