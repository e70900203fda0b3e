"""Where identities of real persons are kept: one folder each, with its consent beside the face.

::

    LIVEFUSION_HOME or the user's data folder
    └── identities
        └── NAME
            ├── identity.npz     the face
            └── consent.json     the record; without it the face is not used
"""

import os
import re
import shutil
from datetime import date
from pathlib import Path

import platformdirs

from livefusion.core.errors import IdentityError
from livefusion.core.words import did_you_mean
from livefusion.provenance.consent import ConsentRecord
from livefusion.provenance.private_files import make_private_folder

HOME_VARIABLE = "LIVEFUSION_HOME"
FACE_FILE = "identity.npz"
CONSENT_FILE = "consent.json"
LONGEST_NAME = 64
_NAME = re.compile(r"[^\W_][\w-]*")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)  # Windows takes them for devices


def user_home() -> Path:
    """Where LiveFusion keeps what belongs to the user; ``LIVEFUSION_HOME`` overrides the system's place."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_data_path("livefusion", appauthor=False)


class IdentityStore:
    """The folders of the stored identities under ``root``, by default those of the user."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or user_home() / "identities"

    def names(self) -> tuple[str, ...]:
        """Names of the identities that have a face, sorted."""
        if not self.root.is_dir():
            return ()
        return tuple(sorted(path.parent.name for path in self.root.glob(f"*/{FACE_FILE}")))

    def face_file(self, name: str) -> Path:
        """Where the face of an identity lies or would lie; ``IdentityError`` for a name that is not one."""
        return self._folder(name) / FACE_FILE

    def consent(self, name: str, today: date) -> ConsentRecord:
        """The consent of a stored identity; ``IdentityError`` if it is missing, damaged or has run out."""
        record = self.record(name)
        record.require_valid(today)
        return record

    def record(self, name: str) -> ConsentRecord:
        """The consent as written, whether or not it still holds; ``IdentityError`` if there is none."""
        self._require(name)
        return ConsentRecord.load(self._folder(name) / CONSENT_FILE)

    def require_free(self, name: str) -> None:
        """``IdentityError`` if a name is taken, or none that an identity can have."""
        self._folder(name)
        if name in self.names():
            raise IdentityError(
                f"there is already an identity {name}", f"`livefusion identity revoke {name}`"
            )

    def create(self, name: str, consent: ConsentRecord) -> Path:
        """Make the folder of a new identity with its consent; the path that the face is to be written to.

        ``IdentityError`` if the name is taken or not valid, or the disk refuses.
        """
        self.require_free(name)
        folder = self._folder(name)
        make_private_folder(self.root)
        consent.save(folder / CONSENT_FILE)
        return folder / FACE_FILE

    def remove(self, name: str) -> None:
        """Delete an identity, face and consent, even a half-made one.

        ``IdentityError`` if there is none or it cannot go.
        """
        if not self._folder(name).is_dir():
            self._require(name)
        try:
            shutil.rmtree(self._folder(name))
        except OSError as error:
            raise IdentityError(f"cannot remove {name} ({error.strerror})", "close what uses it") from error

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
