"""``livefusion audit``: what was done with whose face, and whether the log of it is as it was written."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.cli.table import table
from livefusion.core.errors import ProvenanceError, SettingsError

if TYPE_CHECKING:
    from livefusion.provenance.audit_verify import AuditVerdict

SCHEMA = "livefusion.audit/1"
EXIT_TAMPERED = 1
LAST = 30
_MOST_BYTES = 1 << 32


def parser() -> CommandParser:
    """The parser of ``livefusion audit``."""
    made = CommandParser(
        "livefusion audit",
        "What was done with whose face: runs, identities and their consent, the badge, panic, refusals.\n"
        "The log is a chain of signed lines and has no pictures, embeddings, tokens or passwords in it.",
        "livefusion audit verify",
    )
    actions = made.add_actions("show|verify")
    shown = actions.add_parser(
        "show",
        help="what happened, the newest last",
        description="What happened, the newest last.",
        example="livefusion audit show --last 100",
    )
    _add_file(shown)
    shown.add_argument("--last", type=int, default=LAST, metavar="N", help=f"so many lines ({LAST})")
    verified = actions.add_parser(
        "verify",
        help="whether anything was edited, left out, re-ordered or cut off",
        description="Whether anything was edited, left out, re-ordered or cut off; exit status 1 if so.\n"
        "What it cannot tell: who has your private key can write another log, and who puts back an older\n"
        "copy of the whole folder takes it back to that time.",
        example="livefusion audit verify --json -",
    )
    _add_file(verified)
    verified.add_argument("--head", type=Path, metavar="FILE", help="the head; left out, head.json beside it")
    verified.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="HEX",
        help="public key that may have signed it; left out, yours",
    )
    verified.add_argument(
        "--json", type=json_target, metavar="FILE", help="write the verdict as JSON (- stdout)"
    )
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Do what the action says."""
    path = arguments.file or _own_log()
    if arguments.action == "show":
        return _show(path, arguments.last, console)
    return _verify(path, arguments, console)


def _add_file(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="the log; left out, your own")


def _own_log() -> Path:
    from livefusion.provenance.audit import LOG_FILE, audit_folder

    return audit_folder() / LOG_FILE


def _show(path: Path, last: int, console: Console) -> int:
    if last < 1:
        raise SettingsError(f"--last {last} is not valid", "it is a number of lines, above 0")
    from livefusion.provenance.audit import LOG_FILE
    from livefusion.provenance.audit_record import AuditRecord
    from livefusion.provenance.private_files import read_private

    try:
        lines = read_private(path, _MOST_BYTES).splitlines()
    except FileNotFoundError as error:
        raise ProvenanceError(f"there is no audit log at {path}", "it begins with the first run") from error
    except OSError as error:
        raise ProvenanceError(
            f"no audit log can be read at {path} ({error.strerror})", f"name a file such as {LOG_FILE}"
        ) from error
    rows = []
    for line in lines[-last:]:
        try:
            record = AuditRecord.parse(line)
        except ProvenanceError:
            rows.append(("", "", "unreadable line", "`livefusion audit verify` says more"))
            continue
        rows.append((record.at.replace("T", " ")[:19], record.run, record.event, _told(record.data)))
    console.result(table(("UTC", "run", "what", "about it"), rows))
    return 0


def _verify(path: Path, arguments: argparse.Namespace, console: Console) -> int:
    from livefusion.provenance.audit_verify import verify_audit
    from livefusion.provenance.keys import OperatorKey, PublicKey

    keys = [PublicKey.from_hex(text) for text in arguments.key]
    if not keys and (operator := OperatorKey.find()) is not None:
        keys = [operator.public]
    verdict = verify_audit(path, keys, arguments.head)
    if str(arguments.json) != "-":
        console.result(_report(path, verdict))
    if arguments.json is not None:
        write_json(arguments.json, _document(path, verdict, [key.id for key in keys]), console)
    return 0 if verdict.intact else EXIT_TAMPERED


def _report(path: Path, verdict: "AuditVerdict") -> str:
    lines = [f"note: {note}" for note in verdict.notes]
    lines += [f"WRONG: {problem}" for problem in verdict.problems]
    count = len(verdict.records)
    if verdict.intact:
        span = f", {verdict.records[0].at} to {verdict.records[-1].at}" if count else ""
        lines.append(f"{path} is as it was written: {count} lines{span}")
    else:
        lines.append(f"{path} is NOT as it was written: {len(verdict.problems)} problems in {count} lines")
    return "\n".join(lines)


def _document(path: Path, verdict: "AuditVerdict", keys: list[str]) -> dict[str, Any]:
    records = verdict.records
    return {
        "schema": SCHEMA,
        "file": str(path),
        "intact": verdict.intact,
        "records": len(records),
        "first": records[0].at if records else None,
        "last": records[-1].at if records else None,
        "head": records[-1].digest if records else None,
        "keys": keys,
        "problems": [{"line": problem.line, "what": problem.what} for problem in verdict.problems],
        "notes": [{"line": note.line, "what": note.what} for note in verdict.notes],
    }


def _told(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {_value(value)}" for name, value in data.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
