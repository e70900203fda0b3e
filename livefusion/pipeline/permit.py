"""Whether a face may be shown, until when, and why not."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pydantic import ValidationError

from livefusion.core.face import Identity
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.provenance.consent import ConsentRecord

NO_CONSENT: Final = "No consent for this face"
CONSENT_ENDED: Final = "The consent for this face ran out"
CONSENT_WITHDRAWN: Final = "The consent for this face was withdrawn"
REMEDY: Final = (
    'ask its owner, then `livefusion identity add`, or give --consent myself or --consent "NAME, for PURPOSE"'
)


@dataclass(frozen=True, slots=True)
class Permit:
    """``refusal`` is what the slate says in place of the face, empty if it may be shown; ``until_ns`` is the
    monotonic instant with which it may not be any more, None for no end."""

    refusal: str = ""
    until_ns: int | None = None

    def refusal_at(self, now_ns: int) -> str:
        """What the slate says at that instant; a compare, for every frame."""
        if self.refusal or self.until_ns is None or now_ns < self.until_ns:
            return self.refusal
        return CONSENT_ENDED


FREE: Final = Permit()
"""Everything, for ever."""


def permit_for(identity: Identity, clock: Clock, now: datetime | None = None) -> Permit:
    """What the consent of an identity permits: everything for a face that is nobody's."""
    if identity.consent is None:
        return Permit()
    try:
        record = ConsentRecord.model_validate(identity.consent)
    except ValidationError:  # an empty one: a face whose owner was not asked yet
        return Permit(NO_CONSENT)
    return permit_of(record, clock, now)


def permit_of(record: ConsentRecord, clock: Clock, now: datetime | None = None) -> Permit:
    """What a record permits; its end is one of the monotonic clock, which nobody can set back."""
    if record.revoked_at is not None:
        return Permit(CONSENT_WITHDRAWN)
    if record.ends_at is None:
        return Permit()
    left = (record.ends_at - (now or datetime.now(UTC))).total_seconds()
    return Permit(until_ns=clock.now_ns() + round(left * NANOSECONDS)) if left > 0 else Permit(CONSENT_ENDED)
