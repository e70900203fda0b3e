"""A thread that does one job of the graph, and that can be replaced while it hangs."""

import logging
import threading
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final, Protocol

from livefusion.core.errors import GraphError
from livefusion.core.events import Event
from livefusion.runtime.services import Services
from livefusion.runtime.supervisor import Record, Supervisor

TENDING: Final = "tending"
"""What a generation holds while it opens its part again."""
CLOSING: Final = "closing"
"""What a generation holds while it closes its part at the end."""


class Owner(Protocol):
    """What a worker tells its graph, and asks of it."""

    def worker_ready(self, worker: "Worker") -> None:
        """The worker has opened its part for the first time, or never will."""
        ...

    def worker_done(self, worker: "Worker", error: BaseException | None) -> None:
        """The worker has come to its end; ``error`` is what it failed for good with."""
        ...


class Generation:
    """One thread's turn at a worker's job: what it holds, since when, and whether it was given up."""

    __slots__ = ("abandoned", "carried", "held", "limit_ns", "next", "number", "served", "since_ns", "thread")

    def __init__(self, number: int, carried: Event | None = None) -> None:
        self.number = number
        self.carried = carried
        self.held: Any = None
        self.next: Any = None  # the entry that waits while its part is opened again
        self.since_ns = 0
        self.limit_ns = 0
        self.served = False
        self.abandoned = False
        self.thread: threading.Thread | None = None


class Worker(ABC):
    """Runs its job on a thread of its own and replaces the thread when it hangs.

    A generation ``hold``s an entry while foreign code works on it and ``release``s it afterwards. The
    watchdog abandons a generation that holds on for too long: what it held is lost, the next generation goes
    on with what follows, and since only ``release`` decides who may pass something on, order is kept.
    """

    _severity: ClassVar[int] = logging.ERROR
    """How loud a failure is told."""

    def __init__(self, name: str, services: Services, owner: Owner) -> None:
        self.name = name
        self.record = Record(name, services.clock, services.restarts, self._severity)
        self._services = services
        self._owner = owner
        self._lock = threading.Lock()
        self._generation = Generation(0)
        self._hung: list[Generation] = []
        self._ended = False

    def start(self) -> None:
        """Start the thread."""
        self._spawn(self._generation)

    @property
    def hung(self) -> int:
        """Number of abandoned threads that still hang."""
        with self._lock:
            return sum(1 for one in self._hung if one.thread is not None and one.thread.is_alive())

    def join(self, timeout_ns: int) -> bool:
        """Wait for the thread, in real time; False if it still runs."""
        with self._lock:
            threads = [one.thread for one in (self._generation, *self._hung) if one.thread is not None]
        for thread in threads:
            thread.join(timeout_ns / 1e9)
        return not any(thread.is_alive() for thread in threads)

    def expiry_ns(self) -> int:
        """The earliest instant at which the worker could count as hung."""
        with self._lock:
            held, since_ns, limit_ns = self._held()
            return since_ns + limit_ns if held else self._services.clock.now_ns() + self._limit_ns

    def replace_if_hung(self) -> None:
        """Give the job to a new thread if the present one holds an entry for longer than it may."""
        with self._lock:
            held, since_ns, limit_ns = self._held()
            if not held or self._ended or self._services.clock.now_ns() - since_ns < limit_ns:
                return
            hung = self._abandon("stalled")
            entry = hung.held if hung.next is None else hung.next
            successor = Generation(hung.number + 1, entry if isinstance(entry, Event) else None)
            self._generation = successor
        if hung.held is CLOSING:
            self._end(self._stall())
        else:
            self._after_hang(successor)

    def give_up(self) -> None:
        """Abandon a thread that did not end in time: what it holds is counted as ``stopped``."""
        with self._lock:
            if not self._ended and self._generation.held is not None:
                self._abandon("stopped")

    @abstractmethod
    def cut_off(self) -> None:
        """Take nothing more from upstream and let downstream come to its end; idempotent."""

    @property
    @abstractmethod
    def _limit_ns(self) -> int:
        """How long an entry may be held."""

    @abstractmethod
    def _run(self, generation: Generation) -> BaseException | None:
        """The job, on its thread, until it ends or the generation is abandoned; gives a final error."""

    @abstractmethod
    def _after_hang(self, successor: Generation) -> None:
        """Start the successor of a hung generation, or end the worker."""

    def _hold(self, generation: Generation, entry: Any, now_ns: int) -> None:
        limits = self._services.limits
        if entry is TENDING or entry is CLOSING:
            limit_ns = limits.open_ns
        else:
            fresh = generation.number == 0 and not generation.served
            limit_ns = self._limit_ns * (limits.first_item if fresh else 1)
        with self._lock:
            generation.held, generation.since_ns, generation.limit_ns = entry, now_ns, limit_ns

    def _release(self, generation: Generation) -> bool:
        """Let go of what is held; False if the generation was abandoned and must do nothing more."""
        with self._lock:
            if generation.abandoned:
                if generation.held is not CLOSING:
                    self.record.tally.add("late")
                return False
            generation.served = generation.served or self._is_item(generation.held)
            generation.held = None
            return True

    def _tend(self, generation: Generation, supervisor: Supervisor, entry: Any) -> bool:
        """Close or open the part if it needs it, before ``entry`` is worked on; False if abandoned."""
        if not supervisor.needs_tending():
            return True
        generation.next = entry
        self._hold(generation, TENDING, self._services.clock.now_ns())
        supervisor.tend()
        if not self._release(generation):
            return False
        generation.next = None
        return True

    def _close(self, generation: Generation, supervisor: Supervisor) -> None:
        with self._lock:
            if not generation.abandoned and self._is_item(generation.held):
                self._count_lost("stopped")
        self._hold(generation, CLOSING, self._services.clock.now_ns())
        supervisor.close()
        self._release(generation)

    def _count_lost(self, cause: str) -> None:
        self._services.drops.add(self.name, cause)

    @abstractmethod
    def _stall(self) -> GraphError:
        """What the user is told when the worker hangs."""

    def _held(self) -> tuple[bool, int, int]:
        generation = self._generation
        return generation.held is not None, generation.since_ns, generation.limit_ns

    def _abandon(self, cause: str) -> Generation:
        hung = self._generation
        hung.abandoned = True
        self._hung.append(hung)
        if self._is_item(hung.held) or self._is_item(hung.next):
            self._count_lost(cause)
        return hung

    @staticmethod
    def _is_item(held: Any) -> bool:
        return held is not None and not isinstance(held, (Event, str))

    def _spawn(self, generation: Generation) -> None:
        name = self.name if generation.number == 0 else f"{self.name}#{generation.number}"
        generation.thread = threading.Thread(target=self._main, args=(generation,), name=name, daemon=True)
        generation.thread.start()

    def _main(self, generation: Generation) -> None:
        error: BaseException | None = None
        try:
            error = self._run(generation)
        except BaseException as fault:  # border: nothing may end a thread of the graph unnoticed
            error = fault
        with self._lock:
            if generation.abandoned or self._ended:
                return
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        with self._lock:
            self._ended = True
        self._owner.worker_done(self, error)
