"""The audit log: what was done with whose face, in a chain that nobody can change unseen.

::

    LIVEFUSION_HOME or the user's data folder
    └── audit
        ├── audit.jsonl      one signed line an event (``audit_record``)
        ├── head.json        the last line as a copy: without it, lines cut off the end would not be missed
        └── lock             one process writes at a time

What it cannot prove: who has the operator's private key can write another log, and who puts back an older
copy of all the files takes the log back to that time.
"""

import errno
import logging
import os
import queue
import threading
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from livefusion.core.errors import IdentityError, ProvenanceError
from livefusion.core.home import user_home
from livefusion.provenance.audit_record import AuditEvent, AuditRecord, digest_of
from livefusion.provenance.file_lock import locked
from livefusion.provenance.keys import OperatorKey, PublicKey
from livefusion.provenance.private_files import (
    OWNER_FILE,
    make_private_folder,
    require_regular,
    write_private,
)

LOG_FILE, HEAD_FILE, LOCK_FILE = "audit.jsonl", "head.json", "lock"
ALIVE_SECONDS = 60.0
_TAIL_BYTES = 1 << 16
_END_SECONDS = 10.0

_log = logging.getLogger(__name__)


def audit_folder() -> Path:
    """Where the audit log of this user lies."""
    return user_home() / "audit"


def last_noted(key: PublicKey, folder: Path | None = None) -> datetime | None:
    """When the last line of a log, by default the user's, was written; None if ``key`` did not sign it."""
    try:
        with _OpenLog((folder or audit_folder()) / LOG_FILE, os.O_RDONLY) as file:
            record = AuditRecord.parse(file.tail().rstrip(b"\n").split(b"\n")[-1])
        return datetime.fromisoformat(record.at) if record.is_signed_by(key) else None
    except (OSError, ValueError, ProvenanceError):
        return None


class AuditLog:
    """Appends to the log of a folder, by default the user's. Safe for several threads and processes."""

    def __init__(self, folder: Path | None = None, key: OperatorKey | None = None) -> None:
        self.folder = folder or audit_folder()
        self.run = uuid.uuid4().hex[:12]
        self._key = key or OperatorKey.load()
        make_private_folder(self.folder)

    @property
    def path(self) -> Path:
        """The file of the log."""
        return self.folder / LOG_FILE

    def append(self, event: AuditEvent, data: Mapping[str, Any] | None = None) -> AuditRecord:
        """Write a line and the head to the disk, 0.3 ms; gives the line.

        ``ProvenanceError`` if the disk refuses, or the log's last line is none of ours.
        """
        try:
            with locked(self.folder / LOCK_FILE), _OpenLog(self.path) as file:
                last = self._tail(file)
                record = AuditRecord.make(last, self.run, event, data or {}, self._key)
                file.write(record.line + b"\n")
                os.fsync(file.number)
                write_private(self.folder / HEAD_FILE, record.line + b"\n")
        except OSError as error:
            raise ProvenanceError(
                f"the audit log {self.path} cannot be written ({error.strerror})",
                "free the disk or set LIVEFUSION_HOME",
            ) from error
        except IdentityError as error:
            raise ProvenanceError(error.problem, error.remedy) from error
        return record

    def _tail(self, file: "_OpenLog") -> AuditRecord | None:
        """The last line; one that a loss of power cut is closed, and a line says so."""
        content = file.tail()
        if not content:
            return None
        lines = content.rstrip(b"\n").split(b"\n")
        if content.endswith(b"\n"):
            return AuditRecord.parse(lines[-1])
        before = AuditRecord.parse(lines[-2]) if len(lines) > 1 else None
        data = {"torn": digest_of(lines[-1]), "bytes": len(lines[-1])}
        closing = AuditRecord.make(before, self.run, AuditEvent.REPAIRED, data, self._key)
        file.write(b"\n" + closing.line + b"\n")
        return closing


class _OpenLog:
    """The log's file, open for reading and appending."""

    def __init__(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT | os.O_APPEND) -> None:
        self._path = path
        self._flags = flags
        self.number = -1

    def __enter__(self) -> "_OpenLog":
        flags = self._flags | getattr(os, "O_BINARY", 0)
        self.number = os.open(self._path, flags | getattr(os, "O_NONBLOCK", 0), OWNER_FILE)
        try:
            require_regular(self.number)
        except OSError:
            os.close(self.number)
            raise
        return self

    def write(self, line: bytes) -> None:
        """Append a line in one call, so that a kill leaves all of it or nothing; a full disk, too."""
        size = os.lseek(self.number, 0, os.SEEK_END)
        if os.write(self.number, line) < len(line):
            os.ftruncate(self.number, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __exit__(self, *_: object) -> None:
        os.close(self.number)

    def tail(self) -> bytes:
        """The last two lines at least; what is before them may lack its beginning."""
        size, length = os.lseek(self.number, 0, os.SEEK_END), _TAIL_BYTES
        while True:
            os.lseek(self.number, max(0, size - length), os.SEEK_SET)
            content = os.read(self.number, length)
            if length >= size or content.count(b"\n") > 2:
                return content
            length *= 4


_Entry: TypeAlias = tuple[AuditEvent, dict[str, Any]]


class AuditTrail:
    """Notes what a run does, from any thread and without waiting: a thread of its own writes it down.

    Each minute it notes that it is alive. What cannot be written is told once, and counted in the next line
    that can be.
    """

    def __init__(self, log: AuditLog, *, alive_seconds: float = ALIVE_SECONDS) -> None:
        self.lost = 0
        self._audit = log
        self._alive_seconds = alive_seconds
        self._why: ProvenanceError | None = None
        self._queue: queue.SimpleQueue[_Entry | threading.Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="audit", daemon=True)
        self._starting = threading.Lock()
        self._closed = False

    def note(self, event: AuditEvent, **data: Any) -> None:
        """Have an event written down, unless the trail is closed; 1 µs. The first one starts the thread."""
        with self._starting:
            if self._closed:
                return
            if self._thread.ident is None:
                self._thread.start()
        self._queue.put((event, data))

    def settle(self) -> None:
        """Wait until all that was noted is on the disk; ``ProvenanceError`` if it could not be written."""
        written = threading.Event()
        if not self._thread.is_alive():
            return
        self._queue.put(written)
        if not written.wait(timeout=_END_SECONDS):
            raise ProvenanceError("the audit log is not written", "see who holds its lock, and the disk")
        if self.lost and self._why is not None:
            raise ProvenanceError(self._why.problem, self._why.remedy) from self._why

    def close(self) -> None:
        """Write down what is still to be, and end."""
        with self._starting:
            self._closed = True
        self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout=_END_SECONDS)

    def _write(self) -> None:
        while True:
            try:
                entry = self._queue.get(timeout=self._alive_seconds)
            except queue.Empty:
                entry = (AuditEvent.ALIVE, {})
            if entry is None:
                return
            if isinstance(entry, threading.Event):
                entry.set()
            else:
                self._append(*entry)

    def _append(self, event: AuditEvent, data: dict[str, Any]) -> None:
        if self.lost:
            data = {**data, "lines_lost": self.lost}
        try:
            self._audit.append(event, data)
            self.lost = 0
        except (ProvenanceError, TypeError) as error:  # the run goes on: a picture is no reason to crash
            self._why = error if isinstance(error, ProvenanceError) else ProvenanceError(str(error))
            if not self.lost:
                _log.error("an event (%s) is missing in the audit log: %s", event, error)
            self.lost += 1


class NoTrail:
    """Notes nothing: for measurements and tests, and for who asks for it."""

    def note(self, event: AuditEvent, **data: Any) -> None:
        """Nothing."""

    def settle(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


NOWHERE: Final = NoTrail()
Trail: TypeAlias = AuditTrail | NoTrail
