"""Who agreed that a real person's face may be put on, to what, and until when."""

import hashlib
import json
import os
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from livefusion.core.errors import IdentityError
from livefusion.provenance.private_files import read_private, require_regular, write_private

if TYPE_CHECKING:  # cryptography takes 40 ms to load, and a persona needs no signature
    from livefusion.provenance.keys import OperatorKey, PublicKey

TEXT_VERSION = 1
CONSENT_TEXT = (
    "The person in the photos, or somebody entitled to speak for them, agreed that their face is put on "
    "another person in moving pictures, for the purposes named here and until the date named here."
)
"""What a record states; ``text_version`` rises whenever this sentence changes."""

Line = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\r\n]*\S[^\r\n]*$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_SIGNED_AS = b"livefusion consent 1\n"
_MINE = "my own pictures and streams"


class Scope(StrEnum):
    """Where a face may be put on."""

    LIVE = "live"  # streams, pages and virtual cameras
    RECORDING = "recording"  # files


class ConsentRecord(BaseModel):
    """The consent that is kept with an identity.

    ``subject`` is whose face it is, ``given_by`` who agreed ("myself" or a name), ``scope`` where it may be
    put on, ``purposes`` to what, ``until`` the last day on which it holds (None: until it is withdrawn),
    ``evidence`` the sha256 of every photo, in hexadecimal, in the order in which they were given, ``face``
    that of the face made of them, so that no consent fits another face, ``revoked_at`` when it was withdrawn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Line
    given_by: Line
    purposes: Line
    until: date | None = None
    recorded_at: AwareDatetime
    evidence: tuple[Sha256, ...] = ()
    text_version: int = TEXT_VERSION
    scope: tuple[Scope, ...] = tuple(Scope)
    face: Sha256 | None = None
    revoked_at: AwareDatetime | None = None

    @classmethod
    def record(
        cls,
        subject: str,
        given_by: str,
        purposes: str,
        photos: Iterable[Path],
        *,
        until: date | None = None,
        scope: Iterable[Scope] = Scope,
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
                scope=tuple(scope),
            )
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            raise IdentityError(
                f"the consent has no valid {field}", "write it as one line of text"
            ) from error
        made.require_valid(moment.date())
        return made

    @property
    def id(self) -> str:
        """A short name of the record as it was given: it stays when the consent is withdrawn."""
        given = self.model_copy(update={"revoked_at": None})
        return hashlib.sha256(_canonical(given.as_report())).hexdigest()[:16]

    @property
    def ends_at(self) -> datetime | None:
        """The local midnight after the last day, with which it ends; None if no day was named."""
        if self.until is None or self.until == date.max:
            return None
        return datetime.combine(self.until + timedelta(days=1), time.min).astimezone()

    def require_valid(self, today: date) -> None:
        """``IdentityError`` if the consent was withdrawn, has run out by ``today``, or was not given yet."""
        if self.revoked_at is not None:
            raise IdentityError(
                f"the consent of {self.given_by} for {self.subject} was withdrawn on "
                f"{self.revoked_at:%Y-%m-%d}",
                "use another face",
            )
        if today < self.recorded_at.date() - timedelta(days=1):  # no two places are further apart
            raise IdentityError(
                f"the clock says {today}, and the consent was recorded on {self.recorded_at:%Y-%m-%d}",
                "set the clock",
            )
        if self.until is not None and today > self.until:
            raise IdentityError(
                f"the consent of {self.given_by} for {self.subject} ran out on {self.until}",
                "ask again and add the identity anew",
            )

    def require_scope(self, scope: Scope) -> None:
        """``IdentityError`` if the consent does not reach so far."""
        if scope not in self.scope:
            reach = " and ".join(self.scope) or "nothing"
            raise IdentityError(
                f"the consent of {self.given_by} for {self.subject} is for {reach}, not for {scope}",
                "ask for it and add the identity anew",
            )

    def save(self, path: Path, key: "OperatorKey") -> None:
        """Sign and write the record, readable by the owner alone, in one step: all of it or nothing."""
        values = self.as_report()
        signature = key.sign(_SIGNED_AS + _canonical(values)).hex()
        document = {"record": values, "key": key.public.hex, "signature": signature}
        write_private(path, json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")

    @classmethod
    def load(cls, path: Path, key: "PublicKey") -> Self:
        """Read a record that the owner of ``key`` signed; whether it still holds is not looked at.

        ``IdentityError`` if there is none, or it is damaged, changed, or signed by somebody else.
        """
        anew = "`livefusion identity remove`, then add it anew"
        try:
            document = json.loads(read_private(path))
            values, signer = document["record"], document["key"]
            signature = bytes.fromhex(document["signature"])
            record = cls.model_validate_json(json.dumps(values))
            signed = _SIGNED_AS + _canonical(values)
        except FileNotFoundError as error:
            raise IdentityError(f"there is no consent at {path}", anew) from error
        except OSError as error:
            raise IdentityError(f"the consent at {path} cannot be read ({error.strerror})", anew) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise IdentityError(f"the consent at {path} is damaged or not signed", anew) from error
        if signer != key.hex:
            raise IdentityError(f"the consent at {path} is signed with another key than yours", anew)
        if not key.signed(signature, signed):
            raise IdentityError(f"the consent at {path} was changed after it was signed", anew)
        return record

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


def consent_of_oneself(subject: str, photos: Iterable[Path]) -> ConsentRecord:
    """The record of somebody who puts on their own face."""
    return ConsentRecord.record(subject, "myself", _MINE, photos)


def _canonical(values: dict[str, Any]) -> bytes:
    """The bytes that are signed: JSON with sorted keys and without spaces."""
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _sha256(photo: Path) -> str:
    try:
        handle = os.open(photo, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            require_regular(handle)  # a pipe would be waited for, and a device has no end
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise IdentityError(f"cannot read {photo} ({error.strerror})", "check the name") from error
