"""The thread of a sink: take what the pacer issues, write it, count it."""

from collections.abc import Callable
from typing import Any

from livefusion.core.errors import GraphError, SafetyStopError
from livefusion.core.events import Eos, Event
from livefusion.runtime.mailbox import Mailbox
from livefusion.runtime.pacer import Issue, SinkPacer
from livefusion.runtime.services import Services
from livefusion.runtime.supervisor import Supervisor
from livefusion.runtime.worker import Generation, Owner, Worker


class SinkWorker(Worker):
    """Runs a sink behind its pacer.

    A sink that raises or hangs is failed for good, unless ``restart`` is True: then it is opened again with
    back-off. Only restart what loses nothing by it: a file would be written over.
    """

    def __init__(
        self,
        name: str,
        factory: Callable[[], Any],
        *,
        inbox: Mailbox[Any],
        pacer: SinkPacer,
        restart: bool,
        services: Services,
        owner: Owner,
    ) -> None:
        super().__init__(name, services, owner)
        self._inbox = inbox
        self._factory = factory
        self._pacer = pacer
        self._restart = restart
        self._last_seq: int | None = None
        self._writes = services.stages.histogram(name)
        self._residence = services.residence.histogram(name)
        self._written = services.written.histogram(name)

    def cut_off(self) -> None:
        """Close the mailbox: what comes now is counted as ``sink-closed`` and slows nobody."""
        self._inbox.close("sink-closed")

    @property
    def _limit_ns(self) -> int:
        return self._services.limits.sink_ns

    def _stall(self) -> GraphError:
        return GraphError(
            f"the output {self.name} stopped answering", "look at the disk or the program behind it"
        )

    def _after_hang(self, successor: Generation) -> None:
        if self._restart and self.hung <= self._services.limits.hung:
            self._spawn(successor)
        else:
            self.record.failed(self._stall())
            self._end(self._stall())

    def _run(self, generation: Generation) -> BaseException | None:
        supervisor = Supervisor(self.record, self._factory)
        error: BaseException | None = None
        try:
            self._begin(generation, supervisor)
            error = self._loop(generation, supervisor)
        finally:
            self._close(generation, supervisor)
        return None if self._restart else error or supervisor.error

    def _begin(self, generation: Generation, supervisor: Supervisor) -> None:
        if generation.number:
            supervisor.make_later(self.record.failed(self._stall()))
            return
        try:
            supervisor.open()
        except Exception as error:  # noted here, and raised again: the graph decides what it means
            self.record.failed(error)
            raise
        finally:
            self._owner.worker_ready(self)

    def _loop(self, generation: Generation, supervisor: Supervisor) -> BaseException | None:
        entry: Any = generation.carried
        while not isinstance(entry, Eos):
            entry = None  # holds no picture, whose slot its pool may need, while it waits for the next
            entry = self._pacer.next() or Eos()
            if not self._tend(generation, supervisor, entry):
                return None
            start_ns = self._services.clock.now_ns()
            self._hold(generation, entry, start_ns)
            cause = self._deliver(supervisor, entry)
            if not self._release(generation):
                return None
            if not isinstance(entry, Event):
                self._count(entry, cause, start_ns)
            if not supervisor.up and not self._restart:
                return supervisor.error
        return None

    def _deliver(self, supervisor: Supervisor, entry: Any) -> str:
        """Hand an entry to the sink; gives the cause if it was not taken."""
        if isinstance(entry, Event):
            supervisor.handle(entry)
            return ""
        if self._last_seq is not None and entry.seq <= self._last_seq:
            self.record.tally.add("order")
            return "order"
        self._last_seq = entry.seq
        if not supervisor.up:
            return "sink-down"
        try:
            supervisor.part.write(entry)
        except SafetyStopError:
            raise
        except Exception as error:  # border: a sink of any library may fail in any way
            supervisor.failed(error)
            return "sink-error"
        return ""

    def _count_lost(self, cause: str) -> None:
        # Repeats and slates are not frames of the source; only those must add up.
        if self._pacer.issue is Issue.FRESH:
            super()._count_lost(cause)

    def _count(self, item: Any, cause: str, start_ns: int) -> None:
        if cause:
            self._count_lost(cause)
            return
        issue, end_ns = self._pacer.issue, self._services.clock.now_ns()
        self.record.tally.add(issue.value)
        self._writes.record(end_ns - start_ns)
        if issue is Issue.FRESH:
            self._residence.record(start_ns - item.captured_ns)
            self._written.record(end_ns - item.captured_ns)
            item.trace.add(self.name, start_ns, end_ns)
        if self._services.spans is not None:
            self._services.spans.add(self.name, item.seq, start_ns, end_ns)
