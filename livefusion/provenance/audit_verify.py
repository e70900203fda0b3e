"""Whether an audit log is as it was written: nothing edited, left out, re-ordered or cut off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.audit import HEAD_FILE
from livefusion.provenance.audit_record import GENESIS, AuditEvent, AuditRecord, digest_of
from livefusion.provenance.keys import PublicKey
from livefusion.provenance.private_files import read_private

MOST_PROBLEMS = 100
_MOST_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and in which line, counted from 1; 0 for the log as a whole."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """What was found: the lines that could be read, and all that is wrong (the first 100 of it).

    ``notes`` tell what is no fault: a line that a loss of power cut, and that was closed afterwards.
    """

    records: tuple[AuditRecord, ...]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def intact(self) -> bool:
        """Whether the log is as it was written."""
        return not self.problems


def verify_audit(path: Path, keys: Sequence[PublicKey], head: Path | None = None) -> AuditVerdict:
    """Check a log against the keys that may have signed it, and its head: ``head.json`` beside it.

    ``ProvenanceError`` if the log cannot be read; a log that is missing where a head says what was in it is
    a problem, not an error.
    """
    head = head or path.with_name(HEAD_FILE)
    if not path.exists() and not head.exists():
        raise ProvenanceError(f"there is no audit log at {path}", "it begins with the first run")
    content, written = _read(path), _read(head)
    checker = _Checker({key.id: key for key in keys})
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1], start=1):
        checker.take(number, line)
    if lines[-1]:
        checker.blame(len(lines), "it has no end: it was cut, or the machine lost power")
    checker.compare(written)
    problems = tuple(checker.problems[:MOST_PROBLEMS])
    return AuditVerdict(tuple(checker.records), problems, tuple(checker.notes))


class _Checker:
    """Goes along the chain; after a break it goes on from what it finds."""

    def __init__(self, keys: Mapping[str, PublicKey]) -> None:
        self.records: list[AuditRecord] = []
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []
        self._keys = keys
        self._torn: tuple[int, str] | None = None

    def blame(self, line: int, what: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line, what))

    def take(self, number: int, line: bytes) -> None:
        """Check the next line."""
        try:
            record = AuditRecord.parse(line)
        except ProvenanceError as error:
            self._settle_torn(None)
            self._torn = number, digest_of(line)
            self._torn_problem = error.problem
            return
        self._settle_torn(record)
        self._check_signature(number, line, record)
        self._check_place(number, record)
        self.records.append(record)

    def compare(self, head: bytes) -> None:
        """Check the end of the log against its head."""
        self._settle_torn(None)
        if not head:
            self.blame(0, "the head is missing: whether lines were cut off the end cannot be told")
            return
        try:
            record = AuditRecord.parse(head.rstrip(b"\n"))
        except ProvenanceError:
            self.blame(0, "the head is damaged: whether lines were cut off the end cannot be told")
            return
        key = self._keys.get(record.key)
        if key is None or not record.is_signed_by(key):
            self.blame(0, "the head is not signed with the operator's key")
            return
        last = self.records[-1] if self.records else None
        if last is not None and last.digest == record.digest:
            return
        known = {each.digest for each in self.records}
        if record.digest in known:
            beyond = last.n - record.n if last else 0
            # A kill between the two writes leaves one line more than the head knows of, never two.
            if beyond == 1:
                self.notes.append(Problem(len(self.records), "the program ended while it wrote this line"))
            else:
                self.blame(0, f"the head is older than the last {beyond} lines")
            return
        missing = record.n - (last.n if last else -1)
        self.blame(0, f"{max(missing, 1)} lines were cut off the end: the head is of line {record.n + 1}")

    def _settle_torn(self, successor: AuditRecord | None) -> None:
        if self._torn is None:
            return
        number, digest = self._torn
        self._torn = None
        closes = successor is not None and successor.event == AuditEvent.REPAIRED
        if closes and successor is not None and successor.data.get("torn") == digest:
            self.notes.append(Problem(number, "it was cut by a loss of power, and closed afterwards"))
        else:
            self.blame(number, self._torn_problem)

    def _check_signature(self, number: int, line: bytes, record: AuditRecord) -> None:
        key = self._keys.get(record.key)
        if key is None:
            self.blame(number, f"it is signed with the key {record.key}, which is not yours")
        elif not record.is_signed_by(key):
            self.blame(number, "it was changed after it was signed")
        elif line != record.line:
            self.blame(number, "it is not written as it was signed")

    def _check_place(self, number: int, record: AuditRecord) -> None:
        last = self.records[-1] if self.records else None
        if last is None:
            if record.n != 0 or record.prev != GENESIS:
                self.blame(number, f"{max(record.n, 1)} lines before it are missing")
        elif record.prev != last.digest:
            gap = record.n - last.n - 1
            what = (
                f"{gap} lines before it are missing" if gap > 0 else "it does not follow the line before it"
            )
            self.blame(number, what)
        elif record.n != last.n + 1:
            self.blame(number, "its number is not the next one")


def _read(path: Path) -> bytes:
    try:
        return read_private(path, _MOST_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ProvenanceError(f"cannot read {path} ({error.strerror})", "see who owns it") from error
