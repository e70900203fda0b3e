"""Where identities of real persons are kept: one folder each, with its consent beside the face.

::

    LIVEFUSION_HOME or the user's data folder
    └── identities
        └── NAME
            ├── SHA256.npz       the face, by the name of its content
            └── consent.json     the signed record, which names the face; without it the face is not used

All of it can be read by its owner alone. Photos are not kept, only their sha256.
"""

import hashlib
import re
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path

from livefusion.core.errors import IdentityError
from livefusion.core.home import user_home
from livefusion.core.words import did_you_mean
from livefusion.provenance.audit import last_noted
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.file_lock import locked
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.private_files import make_private_folder, read_private, unwritable, write_private

CONSENT_FILE = "consent.json"
FACES = "*.npz"
LONGEST_NAME, LONGEST_BYTES = 64, 255
_LOCK = ".lock"
_MOST_OF_FACE = 1 << 28
_NAME = re.compile(r"[^\W_][\w-]*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # Windows takes them for devices


class IdentityStore:
    """The folders of the stored identities under ``root``, by default those of the user.

    ``keys`` is the folder of the operator's key, by default the user's.
    """

    def __init__(self, root: Path | None = None, keys: Path | None = None) -> None:
        self.root = root or user_home() / "identities"
        self._keys = keys

    def names(self) -> tuple[str, ...]:
        """Names of the identities that have a face, sorted."""
        return tuple(sorted({path.parent.name for path in self.root.glob(f"*/{FACES}")}))

    def revoked(self) -> tuple[str, ...]:
        """Names of those of which only the withdrawn consent is left, sorted."""
        known = {path.parent.name for path in self.root.glob(f"*/{CONSENT_FILE}")}
        return tuple(sorted(known - set(self.names())))

    def consent(self, name: str, today: date) -> ConsentRecord:
        """The consent of an identity; ``IdentityError`` if it is missing, changed, withdrawn or run out."""
        record = self.record(name)
        record.require_valid(today)
        self._require_clock(record, today)
        return record

    def record(self, name: str) -> ConsentRecord:
        """The consent as written, whether or not it still holds; ``IdentityError`` if there is none."""
        if name not in self.revoked():
            self._require(name)
        return ConsentRecord.load(self.consent_file(name), self._key().public)

    def consent_file(self, name: str) -> Path:
        """Where the consent of an identity lies; it changes when the consent is withdrawn."""
        return self._folder(name) / CONSENT_FILE

    def face(self, name: str, consent: ConsentRecord) -> bytes:
        """The face that the consent is for; ``IdentityError`` if another one lies there."""
        path = self._folder(name) / f"{consent.face}.npz"
        anew = "remove it and add it anew"
        try:
            content = read_private(path, _MOST_OF_FACE)
        except OSError as error:
            raise IdentityError(f"the face of {name} is not the one that was agreed to", anew) from error
        if hashlib.sha256(content).hexdigest() != consent.face:
            raise IdentityError(f"the face of {name} was changed after it was kept", anew)
        return content

    def require_free(self, name: str) -> None:
        """``IdentityError`` if a name is taken, or none that an identity can have.

        Names that differ in capitals alone are one folder on some systems, and one name to people.
        """
        self._folder(name)
        taken = [known for known in self.names() if plain_name(known) == plain_name(name)]
        if taken:
            raise IdentityError(
                f"there is already an identity {taken[0]}", f"`livefusion identity remove {taken[0]}`"
            )

    def keep(self, name: str, consent: ConsentRecord, face: bytes) -> ConsentRecord:
        """Keep a face and sign the consent for it; gives the record as signed.

        ``IdentityError`` if the name is taken or not valid, or the disk refuses. Whatever ends it early,
        Ctrl-C too, leaves nothing of it behind, and a record that was withdrawn as it is.
        """
        self.require_free(name)
        signed = consent.model_copy(update={"face": hashlib.sha256(face).hexdigest()})
        path = self._folder(name) / f"{signed.face}.npz"
        with self._alone():
            self.require_free(name)
            try:
                write_private(path, face)
                signed.save(path.with_name(CONSENT_FILE), self._key())
            except BaseException:  # half an identity would be a face without a consent
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                    path.parent.rmdir()
                raise
        return signed

    def revoke(self, name: str, now: datetime | None = None) -> ConsentRecord:
        """Withdraw a consent: the face is deleted, the signed record says since when. Gives the record.

        The record is changed first, so that whoever shows the face stops. ``IdentityError`` like ``remove``.
        """
        self._require(name)
        moment = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
        with self._alone():
            return self._revoke(name, moment)

    def _revoke(self, name: str, moment: datetime) -> ConsentRecord:
        record = self.record(name).model_copy(update={"revoked_at": moment})
        record.save(self.consent_file(name), self._key())
        try:
            for face in self._folder(name).glob(FACES):
                face.unlink()
        except OSError as error:
            raise IdentityError(f"cannot remove {name} ({error.strerror})", "close what uses it") from error
        return record

    def remove(self, name: str) -> None:
        """Delete an identity for good, face and consent, even a half-made one.

        ``IdentityError`` if there is none or it cannot go.
        """
        folder = self._folder(name)
        if not folder.is_dir():
            self._require(name)
        try:
            if folder.is_symlink():  # what it leads to was not made here
                folder.unlink()
            else:
                shutil.rmtree(folder)
        except OSError as error:
            raise IdentityError(f"cannot remove {name} ({error.strerror})", "close what uses it") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else adds or revokes meanwhile; removing waits for nobody."""
        make_private_folder(self.root)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.root / _LOCK))
            except OSError as error:
                raise unwritable(self.root, error) from error
            yield

    def _key(self) -> OperatorKey:
        return OperatorKey.load(self._keys)

    def _require_clock(self, record: ConsentRecord, today: date) -> None:
        """``IdentityError`` if a consent only holds because the clock was set back behind the audit log."""
        noted = last_noted(self._key().public) if record.until is not None else None
        if noted is not None and record.until is not None and noted.astimezone().date() > record.until:
            raise IdentityError(
                f"the clock says {today}, but the audit log has a line of {noted:%Y-%m-%d}, when the consent "
                f"of {record.given_by} for {record.subject} had run out",
                "set the clock, or move the audit log away if that one was wrong",
            )

    def _require(self, name: str) -> None:
        names = self.names()
        if name not in names:
            hint = did_you_mean(name, names) or "`livefusion identity list` shows what there is"
            raise IdentityError(f"there is no stored identity {name}", hint)

    def _folder(self, name: str) -> Path:
        too_long = len(name) > LONGEST_NAME or len(name.encode(errors="replace")) > LONGEST_BYTES
        if too_long or not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
            raise IdentityError(
                f"{name!r} cannot be the name of an identity",
                f"use up to {LONGEST_NAME} letters, digits, - and _, beginning with a letter or a digit",
            )
        return self.root / name


def plain_name(name: str) -> str:
    """A name without what people and file systems take for the same: capitals and forms of letters."""
    return unicodedata.normalize("NFKC", name).casefold()
