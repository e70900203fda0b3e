"""What a run may show by the consent of whose face it is, and what it writes down of itself."""

import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from livefusion import __version__
from livefusion.core.errors import IdentityError, LiveFusionError, SettingsError
from livefusion.core.face import Identity
from livefusion.core.frame import Frame
from livefusion.core.settings import MissingFacePolicy, Settings
from livefusion.core.timing import Clock
from livefusion.devices.device import Device
from livefusion.media.sources.uri import FileLocator, NullLocator, OutputLocator, redact
from livefusion.pipeline.consent_watch import ConsentWatch
from livefusion.pipeline.gate import ContentGate, GateCounts
from livefusion.pipeline.gate_model import GateModel
from livefusion.pipeline.permit import (
    CONSENT_ENDED,
    CONSENT_WITHDRAWN,
    REMEDY,
    Permit,
    permit_for,
)
from livefusion.provenance.audit import Trail
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.consent import ConsentRecord, Scope
from livefusion.provenance.store import IdentityStore
from livefusion.runtime.panic import PanicSwitch

_log = logging.getLogger(__name__)

_EVENTS = {CONSENT_ENDED: AuditEvent.EXPIRED, CONSENT_WITHDRAWN: AuditEvent.REVOKED, "": AuditEvent.RENEWED}
Changed = Callable[[Identity, Permit], None]


def require_reason(settings: Settings) -> None:
    """``SettingsError`` if the badge is taken off and nobody says why."""
    reason = settings.safety.badge_off_reason
    if not settings.safety.badge and not any(letter.isalnum() for letter in reason):
        raise SettingsError(
            "without the badge nobody sees that the picture was altered",
            'say why it is off: --badge-off-reason "TEXT"; that goes to the audit log',
        )


class Conduct:
    """Keeps a run to the consent of the face on show, and notes in the audit log what matters of it.

    ``changed`` hears of each new permit of the identity in use, on a thread of the watch. Thread-safe.
    """

    def __init__(
        self, settings: Settings, store: IdentityStore, clock: Clock, trail: Trail, panic: PanicSwitch
    ) -> None:
        self._settings = settings
        self._store = store
        self._clock = clock
        self._trail = trail
        self._panic = panic
        self._scopes: frozenset[Scope] = frozenset()
        self._watch: ConsentWatch | None = None
        self._lock = threading.Lock()
        self._panicking = self._begun = False
        self._gate: ContentGate | None = None
        panic.watch(self._note_panic)

    def begin(self, device: str, outputs: Iterable[OutputLocator]) -> None:
        """Note the start of a run, what is unusual about it, and where its pictures go."""
        self._scopes = frozenset(filter(None, map(_scope_of, outputs)))
        self._begun = True
        settings, safety = self._settings, self._settings.safety
        self._trail.note(
            AuditEvent.START,
            version=__version__,
            input=redact(settings.input),
            outputs=[redact(text) for text in settings.output],
            device=device,
        )
        if not safety.badge:
            self._trail.note(AuditEvent.BADGE_OFF, reason=safety.badge_off_reason)
        if safety.on_missing_face is MissingFacePolicy.PASS:
            self._trail.note(AuditEvent.POLICY, on_missing_face="pass: a face that is lost is shown as it is")

    def use(
        self, identity: Identity, changed: Changed, put: Callable[[Permit], None] = lambda _permit: None
    ) -> Permit:
        """Note whose face is put on, ``put`` it on, and watch its consent from then on; what it permits.

        ``IdentityError`` if the consent does not reach to where the pictures go, ``ProvenanceError`` if what
        must be in the audit log cannot be written there; then nothing changes.
        """
        permit = permit_for(identity, self._clock)
        record = _record_of(identity)
        if record is not None:
            self._require_scopes(record)
        self._trail.note(AuditEvent.IDENTITY, identity=identity.id, **_whose(identity, record))
        if permit.refusal:
            _log.warning("%s: only the slate is shown: %s", permit.refusal, REMEDY)
        if record is not None or self._is_unusual:
            self._trail.settle()
        put(permit)  # before the watch begins, which must find its face on show
        self._watch_consent(identity, record, permit, changed)
        return permit

    def open_gate(
        self, withhold: Callable[[str], None], *, patient: bool = False
    ) -> Callable[[Frame, Device], None] | None:
        """Load the classifier of the content gate; what the render stage offers pictures to, if there is one.

        ``withhold`` is told what the slate says, and an empty text once pictures may be shown again;
        ``patient`` says that the graph waits for its stages.
        ``ModelError`` if the file is no such classifier.
        """
        gate = self._settings.gate
        if gate.gate_model is None:
            return None
        model = GateModel(gate.gate_model)
        self._gate = ContentGate(gate, model, withhold, self._clock, self._trail, patient=patient)
        return self._gate.offer

    @property
    def gate_counts(self) -> GateCounts | None:
        """What the content gate saw, None without one."""
        return self._gate.counts if self._gate else None

    def refused(self, what: LiveFusionError) -> None:
        """Note what was asked for and not done."""
        self._trail.note(AuditEvent.REFUSED, what=what.problem)

    def end(self, report: dict[str, Any]) -> None:
        """Note the end of a run and what was shown; stop watching."""
        self._watch_consent(None, None, Permit(), lambda *_: None)
        if self._gate is not None:
            self._gate.close()
        if not self._begun:
            return  # it was refused before it began
        frames = report["frames"]
        shown = {name: frames[name] for name in ("delivered", "swapped", "safe", "raw") if name in frames}
        self._trail.note(AuditEvent.STOP, **shown)

    def _watch_consent(
        self, identity: Identity | None, record: ConsentRecord | None, permit: Permit, changed: Changed
    ) -> None:
        with self._lock:
            if self._watch is not None:
                self._watch.close()
                self._watch = None
            # A consent that was given for this run alone lies in no file.
            if identity is not None and record is not None and record.face is not None:
                self._watch = ConsentWatch(
                    self._store.consent_file(identity.id),
                    read=partial(self._read_consent, identity, record.face),
                    permit=permit,
                    ends_at=record.ends_at,
                    changed=partial(self._on_change, identity, changed),
                    clock=self._clock,
                )

    @property
    def _is_unusual(self) -> bool:
        safety = self._settings.safety
        return not safety.badge or safety.on_missing_face is MissingFacePolicy.PASS

    def _require_scopes(self, record: ConsentRecord) -> None:
        for scope in self._scopes:
            record.require_scope(scope)

    def _read_consent(self, identity: Identity, face: str) -> ConsentRecord:
        record = self._store.record(identity.id)
        if record.face != face:
            raise IdentityError(f"the consent for {identity.id} is now for another face", "start anew")
        self._require_scopes(record)
        return record

    def _on_change(self, identity: Identity, changed: Changed, permit: Permit) -> None:
        changed(identity, permit)
        event = _EVENTS.get(permit.refusal, AuditEvent.POLICY)
        self._trail.note(event, identity=identity.id, shown="the slate" if permit.refusal else "the face")
        if permit.refusal:
            _log.warning("%s: only the slate is shown from now on", permit.refusal)
        else:
            _log.warning("there is a consent for %s again", identity.label)

    def _note_panic(self) -> None:
        if self._panic.engaged() != self._panicking:
            self._panicking = self._panic.engaged()
            self._trail.note(AuditEvent.PANIC if self._panicking else AuditEvent.PANIC_LIFTED)


def _scope_of(output: OutputLocator) -> Scope | None:
    if isinstance(output, NullLocator):
        return None
    return Scope.RECORDING if isinstance(output, FileLocator) else Scope.LIVE


def _record_of(identity: Identity) -> ConsentRecord | None:
    return ConsentRecord.model_validate(identity.consent) if identity.consent else None


def _whose(identity: Identity, record: ConsentRecord | None) -> dict[str, Any]:
    if record is not None:
        return {
            "whose": "a real person",
            "consent": record.id,
            "given_by": record.given_by,
            "purposes": record.purposes,
            "until": str(record.until) if record.until else None,
        }
    if identity.consent is not None:
        return {"whose": "a real person", "consent": None, "shown": "the slate"}
    return {"whose": "nobody (painted)" if identity.painted else "nobody (persona)"}
