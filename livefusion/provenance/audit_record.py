"""One line of the audit log: what happened, chained to the line before it and signed.

::

    {"n": 7, "at": "2027-03-01T12:00:00.000Z", "run": "9f…", "event": "start", "data": {…},
     "prev": sha256 of line 6, "key": id of the operator's key, "sig": Ed25519 of all that}

Every line is signed, so every line is a head: with it all lines before it are vouched for.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Self

from livefusion.core.errors import ProvenanceError
from livefusion.provenance.keys import OperatorKey, PublicKey

GENESIS: Final = "0" * 64
"""What the first line has in place of the hash of the line before it."""
LONGEST_TEXT = 500
_SIGNED_AS = b"livefusion audit 1\n"
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRETS = re.compile(
    r"\b((?:token|key|secret|password|passphrase|pass|pwd|auth|signature|streamid)=)[^&#\s]+", re.IGNORECASE
)
_FIELDS: Final = ("n", "at", "run", "event", "data", "prev", "key", "sig")
Plain = str | int | float | bool | None


class AuditEvent(StrEnum):
    """What is worth a line."""

    START = "start"
    STOP = "stop"
    ALIVE = "alive"  # once a minute: the log was complete until then
    IDENTITY = "identity used"
    CONSENT = "consent recorded"
    EXPIRED = "consent ran out"
    REVOKED = "consent withdrawn"
    RENEWED = "consent given again"
    REMOVED = "identity removed"
    EXPORTED = "consent exported"
    BADGE_OFF = "badge off"
    POLICY = "policy"
    GATE = "content gate"
    PANIC = "panic"
    PANIC_LIFTED = "panic lifted"
    REFUSED = "refused"
    REPAIRED = "torn line closed"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A line; ``data`` holds plain values only. ``digest`` is the sha256 of the line as written."""

    n: int
    at: str
    run: str
    event: str
    data: Mapping[str, Any]
    prev: str
    key: str
    sig: str
    digest: str = ""

    @classmethod
    def make(
        cls,
        last: "AuditRecord | None",
        run: str,
        event: AuditEvent,
        data: Mapping[str, Any],
        key: OperatorKey,
    ) -> Self:
        """The signed line after ``last``; ``data`` is cleaned of what must not be written down."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        number, prev = (last.n + 1, last.digest) if last is not None else (0, GENESIS)
        body = {"n": number, "at": at, "run": run, "event": str(event), "data": clean(data)}
        body |= {"prev": prev, "key": key.id}
        signature = key.sign(_SIGNED_AS + _canonical(body)).hex()
        record = cls(**body, sig=signature)  # type: ignore[arg-type]
        return cls(**body, sig=signature, digest=digest_of(record.line))  # type: ignore[arg-type]

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """The record in a line without its end; ``ProvenanceError`` if it is none of ours."""
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or set(values) != set(_FIELDS):
                raise ValueError("other fields")
            if not isinstance(values["n"], int) or not isinstance(values["data"], dict):
                raise ValueError("a field of another type")
            texts = (values[name] for name in _FIELDS if name not in ("n", "data"))
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("a field of another type")
            _canonical(values)  # JSON has numbers that can be read and not be written
        except (ValueError, RecursionError) as error:
            raise ProvenanceError(
                "this is no line of an audit log", "`livefusion audit verify` says more"
            ) from error
        return cls(**values, digest=digest_of(line))

    @property
    def line(self) -> bytes:
        """The line without its end, as it is written."""
        return _canonical(self._body() | {"sig": self.sig})

    def is_signed_by(self, key: PublicKey) -> bool:
        """Whether the owner of ``key`` wrote exactly this."""
        try:
            signature = bytes.fromhex(self.sig)
        except ValueError:
            return False
        return key.signed(signature, _SIGNED_AS + _canonical(self._body()))

    def _body(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS if name != "sig"}


def digest_of(line: bytes) -> str:
    """The sha256 of a line without its end, in hexadecimal."""
    return hashlib.sha256(line).hexdigest()


def clean(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as plain values, without credentials of URLs and with texts cut to 500 characters.

    ``TypeError`` for anything but texts, numbers, truth values and lists or mappings of them: pictures and
    embeddings cannot get into the log even by mistake.
    """
    return {str(name): _plain(value) for name, value in data.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return clean(value)
    if isinstance(value, list | tuple | frozenset | set):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        text = _SECRETS.sub(r"\1***", _CREDENTIALS.sub("***@", value))
        return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    raise TypeError(f"{type(value).__name__} does not belong into an audit log")


def _canonical(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
