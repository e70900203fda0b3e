"""The consent kept with a stored identity: told, withdrawn, removed with the face, or given out."""

from datetime import date
from pathlib import Path

from livefusion.cli.console import Console
from livefusion.core.errors import IdentityError, ProvenanceError
from livefusion.core.files import write_new
from livefusion.provenance.audit import AuditLog
from livefusion.provenance.audit_record import AuditEvent
from livefusion.provenance.consent import CONSENT_TEXT, ConsentRecord
from livefusion.provenance.private_files import read_private
from livefusion.provenance.store import IdentityStore


def recorded(name: str, record: ConsentRecord) -> None:
    """Note in the audit log a consent that was just given; without that line the face is not kept."""
    try:
        AuditLog().append(AuditEvent.CONSENT, {"identity": name, **about(record)})
    except BaseException:  # whatever it was, Ctrl-C too
        IdentityStore().remove(name)
        raise


def revoke(name: str, console: Console) -> int:
    """Withdraw the consent: the face is deleted, running programs show the slate."""
    store = _store_with(name)
    if name in store.revoked():
        raise IdentityError(f"the consent for {name} is withdrawn already", "`livefusion identity remove`")
    record = store.revoke(name)
    _note(AuditEvent.REVOKED, {"identity": name, **about(record)}, console)
    console.result(f"the consent for {name} is withdrawn and the face deleted; what shows it stops now")
    return 0


def remove(name: str, console: Console) -> int:
    """Delete face and consent for good."""
    _store_with(name).remove(name)
    _note(AuditEvent.REMOVED, {"identity": name}, console)
    console.result(f"{name} is removed, face and consent")
    return 0


def export(name: str, out: Path, console: Console) -> int:
    """Write the signed consent to a file, for the person it is about or whoever has to check it."""
    store = _store_with(name)
    record = store.record(name)  # checks the signature
    try:
        content = read_private(store.consent_file(name))
    except OSError as error:
        raise IdentityError(f"the consent for {name} cannot be read ({error.strerror})") from error
    write_new(out, content)
    AuditLog().append(AuditEvent.EXPORTED, {"identity": name, "consent": record.id})
    console.result(f"{out} has the signed consent for {name}, without the face")
    return 0


def rows(name: str) -> list[tuple[str, str]]:
    """What the consent of an identity says, for people; none for a persona."""
    store = IdentityStore()
    if name not in (*store.names(), *store.revoked()):
        return []
    record = store.record(name)
    return [
        ("consent of", record.given_by),
        ("for", record.purposes),
        ("where", " and ".join(record.scope)),
        ("until", _until(record)),
        ("recorded", f"{record.recorded_at:%Y-%m-%d %H:%M} UTC"),
        ("evidence", f"{len(record.evidence)} pictures by their sha256"),
        ("which states", CONSENT_TEXT),
    ]


def about(record: ConsentRecord) -> dict[str, object]:
    """What the audit log holds of a consent: no evidence and no face, not even by their hashes."""
    return {
        "consent": record.id,
        "subject": record.subject,
        "given_by": record.given_by,
        "purposes": record.purposes,
        "scope": list(record.scope),
        "until": str(record.until) if record.until else None,
    }


def _note(event: AuditEvent, data: dict[str, object], console: Console) -> None:
    """Note what a person may always have done, and is done already, whether or not it can be noted."""
    try:
        AuditLog().append(event, data)
    except (IdentityError, ProvenanceError) as error:
        console.note(f"livefusion: warning: the audit log lacks that: {error}")


def _until(record: ConsentRecord) -> str:
    if record.revoked_at is not None:
        return f"withdrawn on {record.revoked_at:%Y-%m-%d}"
    if record.until is None:
        return "it is withdrawn"
    return f"{record.until} (run out)" if record.until < date.today() else str(record.until)


def _store_with(name: str) -> IdentityStore:
    """The store, if the name is not that of a persona."""
    from livefusion.pipeline.identities import IdentityLibrary

    store = IdentityStore()
    if name not in (*store.names(), *store.revoked()) and name in IdentityLibrary().names():
        raise IdentityError(f"{name} is a persona", "personas belong to nobody and stay")
    return store
