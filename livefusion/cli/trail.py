"""The audit log of a run."""

from collections.abc import Iterator
from contextlib import contextmanager

from livefusion.core.errors import LiveFusionError, RequestError
from livefusion.core.settings import Settings
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.trail import open_trail
from livefusion.provenance.audit import Trail
from livefusion.provenance.audit_record import AuditEvent


@contextmanager
def trail_of(settings: Settings, library: IdentityLibrary) -> Iterator[Trail]:
    """Write the audit log while a run lasts, and why it was refused if it was (``open_trail``)."""
    trail = open_trail(settings, library)
    try:
        yield trail
    except RequestError as error:
        trail.note(AuditEvent.REFUSED, what=error.problem)
        raise
    except LiveFusionError as error:
        trail.note(AuditEvent.POLICY, ended_by=error.problem)
        raise
    finally:
        trail.close()
