"""Where the audit log of a run is written."""

import logging

from livefusion.core.errors import IdentityError, ProvenanceError
from livefusion.core.settings import Settings
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.provenance.audit import NOWHERE, AuditLog, AuditTrail, Trail

_log = logging.getLogger(__name__)


def open_trail(settings: Settings, library: IdentityLibrary) -> Trail:
    """The user's audit log, for the caller to close.

    Where none can be written, what needs no account of itself goes on with a warning: a persona with the
    badge. Everything else raises ``IdentityError`` or ``ProvenanceError``.
    """
    try:
        return AuditTrail(AuditLog())
    except (IdentityError, ProvenanceError) as error:
        if not settings.safety.badge or settings.source not in ("", *library.personas()):
            raise
        _log.warning("there is no audit log of this run: %s", error)
        return NOWHERE
