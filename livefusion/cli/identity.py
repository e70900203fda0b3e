"""``livefusion identity``: the faces to put on, the consent a real one needs, a template to paint on."""

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from livefusion.cli.console import Console
from livefusion.cli.flags import add_settings, settings_from
from livefusion.cli.identity_check import check, describe_check
from livefusion.cli.identity_consent import export, recorded, remove, revoke, rows
from livefusion.cli.identity_suggest import ABOUT, describe_suggest, suggest
from livefusion.cli.parser import Actions, CommandParser
from livefusion.cli.progress import tell_on
from livefusion.cli.table import table
from livefusion.core.catalogue import catalogue
from livefusion.core.errors import IdentityError, SettingsError
from livefusion.core.words import did_you_mean
from livefusion.provenance.consent import CONSENT_TEXT, ConsentRecord, Scope, consent_of_oneself
from livefusion.provenance.store import IdentityStore

PHOTO_ADVICE = """Good photos show one face from the front: evenly lit, sharp, at least 300
pixels wide, mouth closed, no glasses, hair off the forehead. Three to five are
better than one.
Best is a video of 5 to 30 seconds: turn your head slowly left and right with a
calm face, then smile once and open your mouth once."""
PAINT_ADVICE = """Open it in an image editor, paint on a layer of your own, hide the layer of the
template, and export as PNG with transparency: what you leave transparent stays
your own skin. Then use it as a source: -s face.png. If your editor drops the
mark that the file carries, add --painted."""


def parser() -> CommandParser:
    """The parser of ``livefusion identity``."""
    made = CommandParser(
        "livefusion identity",
        "The faces to put on: personas, which belong to nobody, and real persons who agreed to it.",
        'livefusion identity add ana ana1.jpg ana2.jpg --by "Ana Lima" --consent "my talk in May"',
    )
    actions = made.add_actions("list|show|suggest|check|add|revoke|remove|export|template")
    listed = actions.add_parser(
        "list",
        help="show what there is, personas first",
        description="Personas and stored identities.",
        example="livefusion identity list --names",
    )
    listed.add_argument("--names", action="store_true", help="names alone, one a line")
    shown = actions.add_parser(
        "show",
        help="tell what is known of one",
        description="Of how many pictures a face was made, how much of it they show, its expressions, and\n"
        "what its owner agreed to.",
        example="livefusion identity show ana",
    )
    shown.add_argument("name", metavar="NAME", help="which one")
    describe_suggest(
        actions.add_parser(
            "suggest",
            help="try every persona on you, and tell which one hides you best",
            description=ABOUT,
            example="livefusion identity suggest camera:0",
        )
    )
    describe_check(
        actions.add_parser(
            "check",
            help="tell how good photos are, and what would be better",
            description=f"Tell how good photos are, 0 to 100, and what would be better.\n{PHOTO_ADVICE}",
            example="livefusion identity check me1.jpg me2.jpg",
        )
    )
    _describe_add(
        actions.add_parser(
            "add",
            help="keep a real person's face, with their consent",
            description=f"Keep a real person's face, with their consent.\n{PHOTO_ADVICE}",
            example='livefusion identity add me me1.jpg me2.jpg --by myself --consent "my streams"',
        )
    )
    _describe_ends(actions)
    _describe_template(
        actions.add_parser(
            "template",
            help="write the picture that a painted face is painted on",
            description=f"Write the picture that a painted face is painted on.\n{PAINT_ADVICE}",
            example="livefusion identity template face.png",
        )
    )
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Do what the action says; ``IdentityError`` says what is wrong with a photo or a name."""
    name = getattr(arguments, "name", "")
    match arguments.action:
        case "template":
            status = _template(arguments.out, arguments.size, console)
        case "list":
            status = _list(arguments.names, console)
        case "show":
            status = _show(name, console)
        case "suggest":
            status = suggest(arguments, console)
        case "check":
            status = check(arguments, _photos(arguments.photos, videos=False), console)
        case "add":
            status = _add(arguments, console)
        case "export":
            status = export(name, arguments.out, console)
        case "revoke":
            status = revoke(name, console)
        case _:
            status = remove(name, console)
    return status


def _describe_ends(actions: Actions) -> None:
    for action, what, more in (
        ("revoke", "withdraw a consent", "Programs that show the face show the slate within a moment."),
        ("remove", "delete a face and its consent for good", "Nothing of either is left."),
        ("export", "write the signed consent to a file", "For the person, or whoever checks; no face in it."),
    ):
        made = actions.add_parser(
            action,
            help=what,
            description=f"{what[0].upper()}{what[1:]}. {more}"
            + ("\nThe face is deleted; the record stays and says since when." if action == "revoke" else ""),
            example=f"livefusion identity {action} ana{' ana-consent.json' if action == 'export' else ''}",
        )
        made.add_argument("name", metavar="NAME", help="which one")
        if action == "export":
            made.add_argument("out", metavar="OUT.json", type=Path, help="the file to write")


def _describe_add(added: CommandParser) -> None:
    added.add_argument("name", metavar="NAME", help="what to call it")
    added.add_argument(
        "photos", metavar="PHOTO", nargs="+", type=Path, help="photos or videos of the person, or a folder"
    )
    added.add_argument("--by", metavar="WHO", help='who gave consent: "myself" or a name')
    added.add_argument("--consent", metavar="PURPOSE", help='what for, for example "my talk in May"')
    added.add_argument("--until", metavar="YYYY-MM-DD", help="last day of the consent; else until withdrawn")
    added.add_argument("--scope", choices=[*Scope], help="where alone it may be put on; else in both")
    added.add_argument("--myself", action="store_true", help="it is your own face: answers the rest")
    others = [one.key for one in catalogue() if one.key not in ("gate.gate_model", "gate.gate_threshold")]
    add_settings(added, leave_out=others)


def _describe_template(template: CommandParser) -> None:
    template.add_argument("out", metavar="OUT.png", type=Path, help="the file to write")
    template.add_argument(
        "--size", metavar="PIXELS", default="1024", help="its side, 256 to 4096 (default 1024)"
    )


def _template(out: Path, size: str, console: Console) -> int:
    from livefusion.media.paint import save_marked
    from livefusion.swap.template import LARGEST, SMALLEST, draw_template

    if not size.isdecimal() or not SMALLEST <= int(size) <= LARGEST:
        raise SettingsError(f"--size {size} is not valid", f"it is {SMALLEST} to {LARGEST} pixels")
    save_marked(out, draw_template(int(size)))
    console.result(f"{out} is written; paint on it, then: livefusion demo -s {out}")
    return 0


def _list(names_only: bool, console: Console) -> int:
    from livefusion.pipeline.identities import IdentityLibrary

    names = IdentityLibrary().names()
    if names_only:
        console.result("\n".join(names))
        return 0
    told = (*names, *IdentityStore().revoked())
    console.result(table(("name", "whose", "consent by", "for", "until"), [_row(name) for name in told]))
    return 0


def _show(name: str, console: Console) -> int:
    from livefusion.pipeline.identities import IdentityLibrary

    library = IdentityLibrary()
    if name not in (*library.names(), *IdentityStore().revoked()):
        hint = did_you_mean(name, library.names()) or "`livefusion identity list` shows what there is"
        raise IdentityError(f"there is no identity {name}", hint)
    consent = rows(name)
    if consent and name in IdentityStore().revoked():
        console.result(table(("", name), consent))
        return 0
    face = library.load(name)
    if consent:
        console.result(table(("consent", ""), consent) + "\n")
    expressions = ", ".join(known.replace("_", " ") for known in face.expressions) or "none"
    console.result(
        table(
            ("name", "pictures", "seen of the face", "expressions"),
            [
                (
                    name,
                    str(face.views or "not noted"),
                    f"{face.seen:.0%}" if face.views else "not noted",
                    expressions,
                )
            ],
        )
    )
    return 0


def _row(name: str) -> tuple[str, ...]:
    store = IdentityStore()
    if name not in (*store.names(), *store.revoked()):
        return (name, "nobody (persona)", "", "", "")
    try:
        record = store.record(name)
    except IdentityError as error:
        return (name, "a real person", f"unusable: {error.problem}", "", "")
    until = str(record.until or "no end")
    if record.revoked_at is not None:
        return (name, "a real person", record.given_by, record.purposes, "withdrawn, face deleted")
    if record.until is not None and record.until < date.today():
        until += " (run out)"
    return (name, "a real person", record.given_by, record.purposes, until)


def _add(arguments: argparse.Namespace, console: Console) -> int:
    from livefusion.pipeline.gate_model import photo_screen
    from livefusion.pipeline.identities import IdentityLibrary

    IdentityStore().require_free(arguments.name)  # before anything is asked
    until = _day(arguments.until) if arguments.until else None
    if until is not None and until < date.today():
        raise SettingsError(f"--until {until} is past", "a consent ends in the future")
    gate = settings_from(arguments).gate
    photos = _photos(arguments.photos)
    if arguments.myself and not (arguments.by or arguments.consent):
        consent = consent_of_oneself(arguments.name, photos)
    else:
        by, purpose = _answers(arguments, photos, console)
        consent = ConsentRecord.record(arguments.name, by, purpose, photos)
    scope = (Scope(arguments.scope),) if arguments.scope else tuple(Scope)
    consent = consent.model_copy(update={"until": until, "scope": scope})
    consent.require_valid(date.today())
    library = IdentityLibrary(tell=tell_on(console))
    screen = photo_screen(gate)
    try:
        identity = library.add(arguments.name, photos, consent, screen=screen)
    finally:
        console.status("")
    recorded(arguments.name, IdentityStore().record(arguments.name))
    for advice in library.advice:
        console.note(f"livefusion: advice: {advice}")
    console.result(f"{identity.label} is kept; try it: livefusion demo -s {arguments.name}")
    return 0


def _photos(paths: Sequence[Path], *, videos: bool = True) -> list[Path]:
    """The photos named, and those in the folders named; videos too, if wanted."""
    from livefusion.media.photo import SOURCE_SUFFIXES, SUFFIXES, list_photos

    suffixes = SOURCE_SUFFIXES if videos else SUFFIXES
    return [photo for path in paths for photo in (list_photos(path, suffixes) if path.is_dir() else [path])]


def _answers(arguments: argparse.Namespace, photos: Sequence[Path], console: Console) -> tuple[str, str]:
    """Who gave consent and for what: from the flags, else from the person at the terminal.

    Nobody is asked about a file that has no picture in it.
    """
    missing = [
        flag for flag, value in (("--by", arguments.by), ("--consent", arguments.consent)) if not value
    ]
    if missing:
        from livefusion.media.source_files import check_source_files

        check_source_files(photos)
    if missing and not console.interactive:
        raise SettingsError(
            f"a real person's face is kept only with their consent; {' and '.join(missing)} missing",
            'say who agreed and to what: --by "Ana Lima" --consent "my talk in May"',
        )
    if missing:
        console.note(CONSENT_TEXT)
    by = arguments.by or console.ask('Who gave consent ("myself" or a name)?')
    purpose = arguments.consent or console.ask("For what?")
    if not by or not purpose:
        raise SettingsError("without consent the face is not kept", "answer both questions")
    return by, purpose


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise SettingsError(f"--until {text!r} is not valid", "it is a day such as 2027-12-31") from error
