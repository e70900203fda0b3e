"""Clocks that show what a test wants: one that it moves, and one that moves by being waited on."""

import heapq
import threading
from collections.abc import Callable

from livefusion.core.timing import NANOSECONDS


class ScriptedClock:
    """Implements ``core.timing.Clock`` without real time.

    A thread that waits with a timeout is woken when ``advance`` reaches its deadline; deadlines on the way
    are reached one after the other, each with the clock showing that very instant. A timeout counts from the
    time that the waiting thread was shown last, since it was computed from that: an ``advance`` between
    ``now_ns`` and ``wait`` does not put the deadline off.
    """

    def __init__(self, now_ns: int = NANOSECONDS) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._now_ns = now_ns
        self._sleepers: dict[int, tuple[int, threading.Condition]] = {}
        self._tickets = 0
        self._shown = threading.local()

    def now_ns(self) -> int:
        """The time that the script says it is."""
        with self._changed:
            self._shown.now_ns = self._now_ns
            return self._now_ns

    def wait(self, condition: threading.Condition, timeout_ns: int | None) -> bool:
        """Wait on a condition that the caller holds; False when the scripted time ran out first."""
        if timeout_ns is None:
            return condition.wait()
        with self._changed:
            deadline_ns = getattr(self._shown, "now_ns", self._now_ns) + timeout_ns
            if deadline_ns <= self._now_ns:
                return False
            self._tickets += 1
            ticket = self._tickets
            self._sleepers[ticket] = (deadline_ns, condition)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                self._sleepers.pop(ticket, None)
        return self.now_ns() < deadline_ns

    def advance(self, duration_ns: int) -> None:
        """Move on by ``duration_ns`` and wake whose deadline has come."""
        end_ns = self.now_ns() + duration_ns
        while True:
            with self._changed:
                due = [(deadline, ticket) for ticket, (deadline, _) in self._sleepers.items()]
                deadline_ns, ticket = min(due, default=(end_ns + 1, 0))
                if deadline_ns > end_ns:
                    self._now_ns = end_ns
                    return
                self._now_ns = max(self._now_ns, deadline_ns)
                _, condition = self._sleepers.pop(ticket)
            # The sleeper registered while it held the condition, so it is asleep once we get hold of it.
            with condition:
                condition.notify_all()

    def await_sleepers(self, count: int, timeout_s: float = 10.0) -> None:
        """Wait, in real time, until ``count`` threads wait with a timeout; ``TimeoutError`` if they don't."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._sleepers) >= count, timeout_s):
                raise TimeoutError(f"{len(self._sleepers)} of {count} threads sleep on the scripted clock")


class SoloClock:
    """A clock for tests of one thread: waiting on it takes no time, it just moves on to the deadline.

    ``script`` puts actions on the way, such as a frame that arrives while the thread waits.
    """

    def __init__(self, now_ns: int = NANOSECONDS) -> None:
        self._now_ns = now_ns
        self._actions: list[tuple[int, int, Callable[[], object]]] = []

    def now_ns(self) -> int:
        """The time that it is by all the waiting so far."""
        return self._now_ns

    def script(self, at_ns: int, action: Callable[[], object]) -> None:
        """Run ``action`` when a wait reaches ``at_ns``."""
        heapq.heappush(self._actions, (at_ns, len(self._actions), action))

    def wait(self, condition: threading.Condition, timeout_ns: int | None) -> bool:
        """Move on to the next action or to the deadline, whichever comes first; False for the deadline.

        ``TimeoutError`` if there is neither: the thread would wait for ever.
        """
        deadline_ns = None if timeout_ns is None else self._now_ns + max(0, timeout_ns)
        if self._actions and (deadline_ns is None or self._actions[0][0] <= deadline_ns):
            at_ns, _, action = heapq.heappop(self._actions)
            self._now_ns = max(self._now_ns, at_ns)
            condition.release()
            try:
                action()
            finally:
                condition.acquire()
            return True
        if deadline_ns is None:
            raise TimeoutError("nothing is scripted that would end this wait")
        self._now_ns = deadline_ns
        return False
