"""Consent while a run lasts: it is needed, it ends, it is withdrawn, and all of it is written down."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from livefusion.core.errors import IdentityError, ProvenanceError, SettingsError
from livefusion.core.face import Identity
from livefusion.core.settings import MissingFacePolicy, SafetySettings, Settings
from livefusion.core.timing import NANOSECONDS, SystemClock
from livefusion.media.sources.uri import parse_output
from livefusion.pipeline.permit import (
    CONSENT_ENDED,
    CONSENT_WITHDRAWN,
    NO_CONSENT,
    Permit,
    permit_for,
    permit_of,
)
from livefusion.pipeline.policy import Conduct, require_reason
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.consent import ConsentRecord, Scope
from livefusion.provenance.store import IdentityStore
from livefusion.runtime.panic import PanicSwitch
from livefusion.testing.clock import ScriptedClock

pytestmark = pytest.mark.unit

NOON = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


class Notes:
    """A trail that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[AuditEvent, dict[str, Any]]] = []
        self.broken = False

    def note(self, event: AuditEvent, **data: Any) -> None:
        self.lines.append((event, data))

    def settle(self) -> None:
        if self.broken:
            raise ProvenanceError("the audit log cannot be written")

    @property
    def events(self) -> list[AuditEvent]:
        return [event for event, _ in self.lines]


class Rig:
    """A conduct over a store of its own."""

    def __init__(self, folder: Path, settings: Settings | None = None) -> None:
        self.store = IdentityStore(folder / "identities")
        self.notes, self.panic = Notes(), PanicSwitch()
        self.conduct = Conduct(
            settings or Settings(input="clip.mp4"),
            self.store,
            SystemClock(),
            self.notes,
            self.panic,  # type: ignore[arg-type]
        )
        self.permits: list[Permit] = []
        self.changed = threading.Event()

    def on_change(self, identity: Identity, permit: Permit) -> None:
        self.permits.append(permit)
        self.changed.set()

    def keep(self, persona: Identity, **fields: Any) -> Identity:
        record = ConsentRecord.record("ana", "Ana", "talk", [], **fields)
        signed = self.store.keep("ana", record, b"face")
        return replace(persona, id="ana", label="ana", consent=signed.as_report())


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.conduct.end({"frames": {}})


def test_a_face_of_nobody_needs_no_consent(identity: Identity) -> None:
    assert identity.consent is None
    assert permit_for(identity, SystemClock()) == Permit()


def test_a_face_whose_owner_was_not_asked_is_refused(identity: Identity) -> None:
    assert permit_for(replace(identity, consent={}), SystemClock()).refusal == NO_CONSENT


def test_the_end_is_an_instant_of_the_monotonic_clock() -> None:
    clock = ScriptedClock(5 * NANOSECONDS)
    record = ConsentRecord.record("ana", "Ana", "talk", [], until=date(2027, 3, 9), now=NOON)
    ends_at = record.ends_at
    assert ends_at is not None
    permit = permit_of(record, clock, ends_at - timedelta(seconds=2))
    assert permit.until_ns == 7 * NANOSECONDS
    assert permit.refusal_at(7 * NANOSECONDS - 1) == ""
    assert permit.refusal_at(7 * NANOSECONDS) == CONSENT_ENDED
    assert permit_of(record, clock, ends_at).refusal == CONSENT_ENDED
    revoked = record.model_copy(update={"revoked_at": NOON})
    assert permit_of(revoked, clock, NOON).refusal == CONSENT_WITHDRAWN


@pytest.mark.parametrize("how", ["revoke", "remove", "damage"])
def test_a_consent_that_another_process_ends_is_noticed(rig: Rig, identity: Identity, how: str) -> None:
    face = rig.keep(identity)
    assert rig.conduct.use(face, rig.on_change) == Permit()
    if how == "damage":
        rig.store.consent_file("ana").write_text("{}", encoding="utf-8")
    else:
        getattr(IdentityStore(rig.store.root), how)("ana")
    assert rig.changed.wait(timeout=30)
    assert rig.permits == [Permit(CONSENT_WITHDRAWN)]
    wait_for(lambda: AuditEvent.REVOKED in rig.notes.events)


def test_a_consent_that_is_given_again_is_noticed_too(rig: Rig, identity: Identity) -> None:
    face = rig.keep(identity)
    rig.conduct.use(face, rig.on_change)
    rig.store.revoke("ana")
    assert rig.changed.wait(timeout=30)
    rig.changed.clear()
    rig.keep(identity)
    assert rig.changed.wait(timeout=30)
    assert rig.permits[-1] == Permit()


@pytest.mark.parametrize("how", ["revoke", "remove", "another face"])
def test_what_ended_while_the_face_was_got_ready_is_noticed(rig: Rig, identity: Identity, how: str) -> None:
    face = rig.keep(identity)
    if how == "another face":
        rig.store.remove("ana")
        rig.store.keep("ana", ConsentRecord.record("ana", "Ana", "talk", []), b"somebody else's")
    else:
        getattr(rig.store, how)("ana")
    put: list[Permit] = []
    rig.conduct.use(face, rig.on_change, put.append)
    assert rig.changed.wait(timeout=30)
    assert put == [Permit()]
    assert rig.permits == [Permit(CONSENT_WITHDRAWN)]


@pytest.mark.parametrize("what", ["another face", "another scope", "the record of somebody else"])
def test_a_consent_for_something_else_does_not_go_on_showing_the_face(
    rig: Rig, identity: Identity, what: str
) -> None:
    """The name is the same, the signature is good, and nobody agreed to what is on show."""
    face = rig.keep(identity)
    rig.conduct.begin("cpu", [parse_output("vcam:")])
    rig.conduct.use(face, rig.on_change)
    record = ConsentRecord.record("ana", "Ana", "talk", [])
    if what == "the record of somebody else":
        rig.store.keep("bo", record, b"face of bo")
        rig.store.consent_file("ana").write_bytes(rig.store.consent_file("bo").read_bytes())
    else:
        rig.store.remove("ana")
        scope = [Scope.RECORDING] if what == "another scope" else list(Scope)
        content = b"somebody else's" if what == "another face" else b"face"
        rig.store.keep("ana", record.model_copy(update={"scope": tuple(scope)}), content)
    assert rig.changed.wait(timeout=30)
    wait_for(lambda: rig.permits[-1] == Permit(CONSENT_WITHDRAWN))
    threading.Event().wait(0.2)
    assert rig.permits[-1] == Permit(CONSENT_WITHDRAWN)


def test_a_file_that_is_written_anew_unchanged_is_no_news(rig: Rig, identity: Identity) -> None:
    face = rig.keep(identity, until=date(2199, 1, 1))
    rig.conduct.use(face, rig.on_change)
    content = rig.store.consent_file("ana").read_bytes()
    rig.store.consent_file("ana").write_bytes(content)
    assert not rig.changed.wait(timeout=0.3)


@pytest.mark.parametrize("what", ["a real face", "no badge", "raw faces", "a persona"])
def test_what_must_be_accounted_for_needs_an_audit_log(tmp_path: Path, identity: Identity, what: str) -> None:
    safety = {
        "no badge": {"badge": False, "badge_off_reason": "a film"},
        "raw faces": {"on_missing_face": "pass"},
    }
    rig = Rig(tmp_path, Settings(input="clip.mp4", safety=SafetySettings(**safety.get(what, {}))))
    face = rig.keep(identity) if what == "a real face" else identity
    rig.notes.broken = True
    put: list[Permit] = []
    if what == "a persona":
        rig.conduct.use(face, rig.on_change, put.append)
        assert put == [Permit()]
    else:
        with pytest.raises(ProvenanceError, match="audit log"):
            rig.conduct.use(face, rig.on_change, put.append)
        assert not put


def test_an_end_is_noticed_by_the_watch_as_well(
    rig: Rig, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.2)
    face = rig.keep(identity, until=date(2199, 1, 1))
    monkeypatch.setattr(ConsentRecord, "ends_at", property(lambda _: soon))
    permit = rig.conduct.use(face, rig.on_change)
    assert permit.until_ns is not None
    assert rig.changed.wait(timeout=30)
    assert rig.permits == [Permit(CONSENT_ENDED)]
    assert time.monotonic_ns() >= permit.until_ns or datetime.now(UTC) >= soon


def test_another_face_ends_the_watch_over_the_first(rig: Rig, identity: Identity) -> None:
    face = rig.keep(identity)
    rig.conduct.use(face, rig.on_change)
    rig.conduct.use(identity, rig.on_change)
    wait_for(lambda: not any(thread.name == "consent" for thread in threading.enumerate()))
    rig.store.revoke("ana")
    assert rig.permits == []


@pytest.mark.parametrize(
    ("output", "scope", "fits"),
    [
        ("out.mp4", Scope.RECORDING, True),
        ("out.mp4", Scope.LIVE, False),
        ("vcam:", Scope.LIVE, True),
        ("rtmp://host/app/key", Scope.RECORDING, False),
        ("null:", Scope.RECORDING, True),
    ],
)
def test_a_face_goes_only_where_was_agreed(
    rig: Rig, identity: Identity, output: str, scope: Scope, fits: bool
) -> None:
    face = rig.keep(identity, scope=[scope])
    rig.conduct.begin("cpu", [parse_output(output)])
    if fits:
        rig.conduct.use(face, rig.on_change)
    else:
        with pytest.raises(IdentityError, match=f"is for {scope}, not for"):
            rig.conduct.use(face, rig.on_change)


def test_what_matters_is_written_down(tmp_path: Path, identity: Identity) -> None:
    safety = SafetySettings(badge=False, badge_off_reason="a film", on_missing_face=MissingFacePolicy.PASS)
    rig = Rig(tmp_path, Settings(input="rtmp://u:p@h/app/key", output=("out.mp4",), safety=safety))
    rig.conduct.begin("cpu", [])
    rig.conduct.use(rig.keep(identity), rig.on_change)
    rig.panic.engage()
    rig.panic.engage("another cause")
    rig.panic.lift()
    rig.conduct.refused(IdentityError("there is no identity bo"))
    rig.conduct.end({"frames": {"delivered": 9, "swapped": 8, "safe": 1, "raw": 0, "dropped": {}}})
    assert rig.notes.events == [
        AuditEvent.START,
        AuditEvent.BADGE_OFF,
        AuditEvent.POLICY,
        AuditEvent.IDENTITY,
        AuditEvent.PANIC,
        AuditEvent.PANIC_LIFTED,
        AuditEvent.REFUSED,
        AuditEvent.STOP,
    ]
    told = {event: data for event, data in rig.notes.lines}
    assert "u:p" not in str(told[AuditEvent.START])
    assert "key" not in told[AuditEvent.START]["input"]
    assert told[AuditEvent.BADGE_OFF] == {"reason": "a film"}
    assert told[AuditEvent.IDENTITY]["given_by"] == "Ana"
    assert told[AuditEvent.STOP] == {"delivered": 9, "swapped": 8, "safe": 1, "raw": 0}


@pytest.mark.parametrize("reason", ["", "  ", "\u200b", "-"])
def test_a_badge_goes_only_for_a_reason(reason: str) -> None:
    with pytest.raises(SettingsError, match="badge-off-reason"):
        require_reason(Settings(safety=SafetySettings(badge=False, badge_off_reason=reason)))


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end
        pause.wait(0.01)
