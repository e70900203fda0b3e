"""Keeps one part of the graph alive: opens it, shields the graph from what it raises, opens it again."""

import logging
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final

from livefusion.core.errors import LiveFusionError, SafetyStopError
from livefusion.core.events import Event, FormatChange, SettingsSwap
from livefusion.core.timing import Clock
from livefusion.runtime.backoff import FailureLog, RestartPolicy
from livefusion.runtime.counters import Tally
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)

_STICKY: Final = (FormatChange, SettingsSwap)


def log_traceback(what: str, error: BaseException) -> None:
    """Log where an error came from, for ``-vv``.

    As text: a handler that keeps its records would keep the picture too, by the frames of the traceback.
    """
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("traceback of %s\n%s", what, "".join(traceback.format_exception(error)).rstrip())


class Record:
    """What outlives the instances of a part: its failures, its counts, and the events a new one must know."""

    def __init__(self, name: str, clock: Clock, policy: RestartPolicy, severity: int = logging.ERROR) -> None:
        self.name = name
        self._severity = severity
        self.clock = clock
        self.tally = Tally()
        self._lock = threading.Lock()
        self._failures = FailureLog(policy)
        self._sticky: dict[type[Event], Event] = {}
        self._kinds: dict[str, str] = {}
        self.renewals = 0
        """How often the part was to be opened anew although it was well."""

    def renew(self) -> None:
        """Have the part closed and opened again before its next item, as no failure of its own."""
        with self._lock:
            self.renewals += 1

    def failed(self, error: BaseException) -> int:
        """Note a failure, log the first of its kind; gives the instant of the next try."""
        kind = type(error).__name__
        with self._lock:
            first = kind not in self._kinds
            told = self._kinds.setdefault(kind, _told(self.name, error))
            retry_ns = self._failures.failed(self.clock.now_ns())
        self.tally.add("failures")
        if first:
            _log.log(self._severity, "%s", told)
        _log.debug("%s failed: %s: %s", self.name, kind, str(error))
        log_traceback(self.name, error)
        return retry_ns

    def remember(self, event: Event) -> None:
        """Keep an event that the next instance must be told of."""
        if isinstance(event, _STICKY):
            with self._lock:
                self._sticky[type(event)] = event

    def remembered(self) -> list[Event]:
        """The last event of each kind that is kept."""
        with self._lock:
            return list(self._sticky.values())

    @property
    def degraded(self) -> bool:
        """True while the part failed too often to be trusted."""
        with self._lock:
            return self._failures.degraded(self.clock.now_ns())

    @property
    def errors(self) -> tuple[str, ...]:
        """One line for each kind of error, in order of their first appearance."""
        with self._lock:
            return tuple(self._kinds.values())


def _told(name: str, error: BaseException) -> str:
    """One line for people: an error of ours says what is wrong and what to do, a foreign one neither."""
    if isinstance(error, LiveFusionError):
        return str(error)
    return f"{name} failed ({type(error).__name__}: {error})"


class Supervisor:
    """One instance of a stage or sink, on its thread.

    ``part`` is None while even the factory fails, ``error`` is what the part raised last. Errors of the first
    opening are the caller's, all later ones are noted in the record.
    """

    def __init__(self, record: Record, factory: Callable[[], Any]) -> None:
        self.part: Any = None
        self._record = record
        self._factory = factory
        self.error: Exception | None = None
        self._open = False
        self._broken = False
        self._dead = False
        self._retry_ns = 0
        self._renewals = 0

    @property
    def up(self) -> bool:
        """True if the part is open and has not failed since."""
        return self._open and not self._broken

    def open(self) -> None:
        """Make and open the part; raises what its factory or ``open`` raises."""
        self.part = self._factory()
        self._open_part()

    def make_later(self, retry_ns: int) -> None:
        """Make the part, to be opened at ``retry_ns``; until then only its ``fallback`` is of use."""
        self._retry_ns = retry_ns
        try:
            self.part = self._factory()
        except Exception as error:  # border: a part of any library may fail in any way
            self._retry_ns = self._record.failed(error)

    def leave_for_dead(self) -> None:
        """Never make the part again: too many of its threads hang."""
        self._dead = True
        _log.error("%s hung too often and is left for dead: restart the program", self._record.name)

    def failed(self, error: Exception) -> None:
        """Note that the part raised; ``tend`` closes it and opens it again when it may."""
        self.error = error
        self._broken = True
        self._retry_ns = self._record.failed(error)

    def patience_ns(self) -> int | None:
        """How long the part can be left alone: until its next try, or for ever."""
        return None if self.up or self._dead else max(0, self._retry_ns - self._record.clock.now_ns())

    def needs_tending(self) -> bool:
        """True if a broken or outdated part is still open, or a closed one may try again."""
        if self._dead:
            return False
        if self._renewals != self._record.renewals:
            return True
        if self.up:
            return False
        return self._broken or self._record.clock.now_ns() >= self._retry_ns

    def tend(self) -> None:
        """Close a part that broke or is outdated; open it again once its back-off is over, or now."""
        renewed = self._renewals != self._record.renewals
        if renewed:
            self._renewals = self._record.renewals
            self._retry_ns = 0
        if self._broken or renewed:
            self.close()
            self._broken = False
            self.error = None  # its traceback holds the picture that was worked on
        if self._open or self._record.clock.now_ns() < self._retry_ns:
            return
        try:
            self.part = self._factory() if self.part is None else self.part
            self._open_part()
            for event in self._record.remembered():
                self.part.handle(event)
        except Exception as error:  # border: a part of any library may fail in any way
            self.failed(error)
            return
        self._record.tally.add("restarts")
        _log.info("%s is back", self._record.name)

    def handle(self, event: Event) -> None:
        """Tell the part of an event if it is up."""
        self._record.remember(event)
        if not self.up:
            return
        try:
            self.part.handle(event)
        except SafetyStopError:
            raise
        except Exception as error:  # border: a part of any library may fail in any way
            self.failed(error)

    def close(self) -> None:
        """Close the part if it is open."""
        if not self._open:
            return
        self._open = False
        try:
            self.part.close()
        except Exception as error:  # border: a part of any library may fail in any way
            self.error = error
            self._record.failed(error)

    def _open_part(self) -> None:
        # Counted as open before it is: a part whose ``open`` failed half-way is closed like any other.
        self._open = True
        self._renewals = self._record.renewals
        try:
            self.part.open(StageContext(self._record.name, self._record.clock))
        except Exception:  # border: whatever a part raises, what it half opened is closed
            self.close()
            raise
