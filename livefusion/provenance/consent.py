"""Who agreed that a real person's face may be put on, to what, and until when."""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from livefusion.core.errors import IdentityError
from livefusion.provenance.private_files import write_private

TEXT_VERSION = 1
CONSENT_TEXT = (
    "The person in the photos, or somebody entitled to speak for them, agreed that their face is put on "
    "another person in moving pictures, for the purposes named here and until the date named here."
)
"""What a record states; ``text_version`` rises whenever this sentence changes."""

Line = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\r\n]*\S[^\r\n]*$")]


class ConsentRecord(BaseModel):
    """The consent that is kept with an identity.

    ``subject`` is whose face it is, ``given_by`` who agreed ("myself" or a name), ``purposes`` to what,
    ``until`` the last day on which it holds (None: until it is withdrawn), ``evidence`` the sha256 of every
    photo, in hexadecimal, in the order in which they were given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Line
    given_by: Line
    purposes: Line
    until: date | None = None
    recorded_at: AwareDatetime
    evidence: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")], ...] = ()
    text_version: int = TEXT_VERSION

    @classmethod
    def record(
        cls,
        subject: str,
        given_by: str,
        purposes: str,
        photos: Iterable[Path],
        *,
        until: date | None = None,
        now: datetime | None = None,
    ) -> Self:
        """A record of a consent that is given now; reads the photos for their sha256.

        ``IdentityError`` if a field is empty, a photo cannot be read, or the consent has already run out.
        """
        moment = (now or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
        evidence = tuple(_sha256(photo) for photo in photos)
        try:
            made = cls(
                subject=subject.strip(),
                given_by=given_by.strip(),
                purposes=purposes.strip(),
                until=until,
                recorded_at=moment,
                evidence=evidence,
            )
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            raise IdentityError(
                f"the consent has no valid {field}", "write it as one line of text"
            ) from error
        made.require_valid(moment.date())
        return made

    def require_valid(self, today: date) -> None:
        """``IdentityError`` if the consent has run out by ``today``."""
        if self.until is not None and today > self.until:
            raise IdentityError(
                f"the consent of {self.given_by} for {self.subject} ran out on {self.until}",
                "ask again and add the identity anew",
            )

    def save(self, path: Path) -> None:
        """Write the record, readable by the owner alone, in one step: either all of it or nothing."""
        write_private(path, self.model_dump_json(indent=2).encode() + b"\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a record. ``IdentityError`` if there is none or it is damaged; expiry is not looked at."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise IdentityError(f"there is no consent at {path}", "add the identity anew") from error
        except (ValidationError, UnicodeDecodeError) as error:
            raise IdentityError(f"the consent at {path} is damaged", "add the identity anew") from error

    def as_report(self) -> dict[str, object]:
        """The record as plain JSON values, for reports and ``Identity.consent``."""
        values: dict[str, object] = json.loads(self.model_dump_json())
        return values


def consent_from_text(text: str, photos: Iterable[Path]) -> ConsentRecord:
    """The record behind ``--consent``: ``myself``, ``NAME`` or ``NAME, for PURPOSE``.

    Without a purpose the consent covers this run. ``IdentityError`` if nobody is named.
    """
    who, _, purpose = text.partition(",")
    return ConsentRecord.record("the person in the photo", who, purpose.strip() or "this run", photos)


def _sha256(photo: Path) -> str:
    try:
        with photo.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise IdentityError(f"cannot read {photo} ({error.strerror})", "check the name") from error
