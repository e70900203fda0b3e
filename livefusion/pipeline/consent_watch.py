"""Notices that the consent for the face on show was withdrawn, by whatever process, or has run out."""

import logging
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from livefusion.core.errors import LiveFusionError
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.pipeline.permit import CONSENT_ENDED, CONSENT_WITHDRAWN, Permit, permit_of
from livefusion.provenance.consent import ConsentRecord
from livefusion.runtime.alarm import Alarm

_log = logging.getLogger(__name__)

LOOK_NS: Final = NANOSECONDS // 20
"""How often the file is looked at: 20 calls of stat a second take 0.1 ms of the processor, and a look at it
through the system's own notices would be another library on each system."""

_SAME_END_NS: Final = NANOSECONDS
_Stamp = tuple[int, int, int] | None


class ConsentWatch:
    """Watches one consent file on a thread of its own, until it is closed or has another one to watch.

    ``read`` gives the record, and raises what is wrong if it is none for the face on show; ``changed`` is
    told each permit that differs from the one before, on the thread. ``permit`` and ``ends_at`` are those of
    the record as it was when the face was loaded: it may have been withdrawn since, so it is read at once.
    """

    def __init__(
        self,
        file: Path,
        *,
        read: Callable[[], ConsentRecord],
        permit: Permit,
        ends_at: datetime | None,
        changed: Callable[[Permit], None],
        clock: Clock,
    ) -> None:
        self._file = file
        self._read = read
        self._permit = permit
        self._changed = changed
        self._clock = clock
        self._stop = Alarm(clock)
        self._stamp: _Stamp = None
        self._ends_at = ends_at
        self._thread = threading.Thread(target=self._watch, name="consent", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()

    def _watch(self) -> None:
        while not self._stop.wait(self._patience_ns()):
            permit = self._look()
            if _differs(permit, self._permit) and not self._stop.is_set:
                self._permit = permit
                self._changed(permit)

    def _patience_ns(self) -> int:
        until_ns = self._permit.until_ns
        if until_ns is None or self._permit.refusal:
            return LOOK_NS
        return max(0, min(LOOK_NS, until_ns - self._clock.now_ns()))

    def _look(self) -> Permit:
        stamp = _stamp(self._file)
        if stamp is None:
            return Permit(CONSENT_WITHDRAWN)
        if stamp != self._stamp:
            self._stamp = stamp
            return self._read_anew()
        # Machines sleep, and their monotonic clocks with them: the calendar counts as well.
        over = self._ends_at is not None and datetime.now(UTC) >= self._ends_at
        if over or self._permit.refusal_at(self._clock.now_ns()):
            return Permit(self._permit.refusal or CONSENT_ENDED)
        return self._permit

    def _read_anew(self) -> Permit:
        try:
            record = self._read()
            self._ends_at = record.ends_at
            return permit_of(record, self._clock)
        except LiveFusionError as error:
            _log.warning("%s", error)
            return Permit(CONSENT_WITHDRAWN)


def _differs(permit: Permit, other: Permit) -> bool:
    """Whether two permits say something else; the end of one date is never the same nanosecond twice."""
    if permit.refusal != other.refusal or permit.until_ns is None or other.until_ns is None:
        return permit != other
    return abs(permit.until_ns - other.until_ns) > _SAME_END_NS


def _stamp(file: Path) -> _Stamp:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
