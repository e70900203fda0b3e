"""The audit log of a run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from livefusion.core.errors import IdentityError, LiveFusionError, ProvenanceError, RequestError
from livefusion.core.settings import Settings
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.provenance.audit import AuditLog, AuditTrail, NoTrail, Trail
from livefusion.provenance.audit_record import AuditEvent

_log = logging.getLogger(__name__)


@contextmanager
def trail_of(settings: Settings, library: IdentityLibrary) -> Iterator[Trail]:
    """Write the audit log while a run lasts, and why it was refused if it was.

    Where none can be written, what needs no account of itself goes on with a warning: a persona with the
    badge. Everything else raises what is wrong.
    """
    try:
        log = AuditLog()
    except (IdentityError, ProvenanceError) as error:
        if settings.safety.badge and settings.source in ("", *library.personas()):
            _log.warning("there is no audit log of this run: %s", error)
            yield NoTrail()
            return
        raise
    trail = AuditTrail(log)
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
