"""Holding an input back to the time at which a camera would have delivered it."""

import logging
import threading

from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS, Clock

_log = logging.getLogger(__name__)

MAX_LATENESS_NS = NANOSECONDS // 2
MAX_GAP_NS = 10 * NANOSECONDS
_QUIET_NS = 60 * NANOSECONDS


class ReleaseClock:
    """Says when a picture is due, and waits for it; ``FAST`` never waits.

    In real time a picture is due at start + its media time. A reader that is more than half a second late
    (a slow disk, a suspended machine) moves the start instead of chasing it; so does a gap in media time of
    more than ten seconds, which only damaged files have.
    """

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self._clock = clock
        self._pace = pace
        self._condition = threading.Condition()
        self._interrupted = False
        self._start_ns: int | None = None
        self._warned_ns: int | None = None

    def due_ns(self, media_ns: int) -> int:
        """Monotonic time at which a picture of that media time is due, after ``wait_until`` it."""
        if self._pace is Pace.FAST or self._start_ns is None:
            return self._clock.now_ns()
        return self._start_ns + media_ns

    def wait_until(self, media_ns: int) -> bool:
        """Wait until that media time is due; False if interrupted."""
        with self._condition:
            if self._pace is Pace.REALTIME:
                self._anchor(media_ns)
                while not self._interrupted and (left := self.due_ns(media_ns) - self._clock.now_ns()) > 0:
                    self._clock.wait(self._condition, left)
            return not self._interrupted

    def interrupt(self) -> None:
        """End the wait, now and ever after."""
        with self._condition:
            self._interrupted = True
            self._condition.notify_all()

    def _anchor(self, media_ns: int) -> None:
        now = self._clock.now_ns()
        if self._start_ns is None:
            self._start_ns = now - media_ns
        late = now - (self._start_ns + media_ns)
        if late > MAX_LATENESS_NS or late < -MAX_GAP_NS:
            self._start_ns = now - media_ns
            self._tell(now, late)

    def _tell(self, now: int, late: int) -> None:
        """Warn at most once a minute: a machine that is too slow for an input is so all the time."""
        often = self._warned_ns is not None and now - self._warned_ns < _QUIET_NS
        level = logging.DEBUG if often else logging.WARNING
        _log.log(level, "input is %.1f s off its time; going on from here", late / NANOSECONDS)
        if not often:
            self._warned_ns = now
