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
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from livefusion.core.errors import IdentityError
from livefusion.core.home import user_home
from livefusion.core.words import did_you_mean
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.keys import OperatorKey
from livefusion.provenance.private_files import make_private_folder, write_private

CONSENT_FILE = "consent.json"
FACES = "*.npz"
LONGEST_NAME = 64
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
            content = path.read_bytes()
        except OSError as error:
            raise IdentityError(f"the face of {name} is not the one that was agreed to", anew) from error
        if hashlib.sha256(content).hexdigest() != consent.face:
            raise IdentityError(f"the face of {name} was changed after it was kept", anew)
        return content

    def require_free(self, name: str) -> None:
        """``IdentityError`` if a name is taken, or none that an identity can have."""
        self._folder(name)
        if name in self.names():
            raise IdentityError(
                f"there is already an identity {name}", f"`livefusion identity remove {name}`"
            )

    def keep(self, name: str, consent: ConsentRecord, face: bytes) -> ConsentRecord:
        """Keep a face and sign the consent for it; gives the record as signed.

        ``IdentityError`` if the name is taken or not valid, or the disk refuses. Whatever ends it early,
        Ctrl-C too, leaves nothing of it behind.
        """
        self.require_free(name)
        signed = consent.model_copy(update={"face": hashlib.sha256(face).hexdigest()})
        folder = self._folder(name)
        try:
            make_private_folder(self.root)
            write_private(folder / f"{signed.face}.npz", face)
            signed.save(folder / CONSENT_FILE, self._key())
        except BaseException:  # half an identity would be a face without a consent
            with suppress(OSError):
                shutil.rmtree(folder)
            raise
        return signed

    def revoke(self, name: str, now: datetime | None = None) -> ConsentRecord:
        """Withdraw a consent: the face is deleted, the signed record says since when. Gives the record.

        The record is changed first, so that whoever shows the face stops. ``IdentityError`` like ``remove``.
        """
        self._require(name)
        moment = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
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
        if not self._folder(name).is_dir():
            self._require(name)
        try:
            shutil.rmtree(self._folder(name))
        except OSError as error:
            raise IdentityError(f"cannot remove {name} ({error.strerror})", "close what uses it") from error

    def _key(self) -> OperatorKey:
        return OperatorKey.load(self._keys)

    def _require(self, name: str) -> None:
        names = self.names()
        if name not in names:
            hint = did_you_mean(name, names) or "`livefusion identity list` shows what there is"
            raise IdentityError(f"there is no stored identity {name}", hint)

    def _folder(self, name: str) -> Path:
        if len(name) > LONGEST_NAME or not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
            raise IdentityError(
                f"{name!r} cannot be the name of an identity",
                f"use up to {LONGEST_NAME} letters, digits, - and _, beginning with a letter or a digit",
            )
        return self.root / name
