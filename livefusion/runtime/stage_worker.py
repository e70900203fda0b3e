"""The thread of a stage: take an item, time it, process it, pass it on."""

import logging
from collections.abc import Callable
from typing import Any

from livefusion.core.errors import GraphError, SafetyStopError
from livefusion.core.events import Eos, Event, Flush
from livefusion.runtime.mailbox import Mailbox
from livefusion.runtime.services import Services
from livefusion.runtime.stage import Drop
from livefusion.runtime.supervisor import Supervisor, log_traceback
from livefusion.runtime.worker import Generation, Owner, Worker

Outlet = Callable[[Any], Any]
"""Where an item or event goes next; may block."""


class StageWorker(Worker):
    """Runs a stage between its mailbox and ``outlet``.

    While the stage is down its ``fallback`` makes the pictures; if that raises, the item is dropped and
    counted as ``fallback-failed``.
    """

    _severity = logging.WARNING  # the picture goes on, covered

    def __init__(
        self,
        name: str,
        factory: Callable[[], Any],
        *,
        inbox: Mailbox[Any],
        outlet: Outlet,
        services: Services,
        owner: Owner,
    ) -> None:
        super().__init__(name, services, owner)
        self._factory = factory
        self._inbox = inbox
        self._outlet = outlet
        self._epoch = 0
        self._durations = services.stages.histogram(name)

    def cut_off(self) -> None:
        """Close the mailbox, and send the end of the stream on."""
        self._inbox.close()
        self._outlet(Eos())

    def renew(self) -> None:
        """Have the stage closed and opened again at once, on its own thread, even if nothing comes."""
        self.record.renew()
        self._inbox.wake()

    @property
    def _limit_ns(self) -> int:
        return self._services.limits.stage_ns

    def _stall(self) -> GraphError:
        return GraphError(
            "this machine was too busy for a while, and the picture was covered meanwhile",
            "close other programs or choose a smaller picture",
        )

    def _after_hang(self, successor: Generation) -> None:
        self._spawn(successor)

    def _run(self, generation: Generation) -> BaseException | None:
        supervisor = Supervisor(self.record, self._factory)
        try:
            self._begin(generation, supervisor)
            self._loop(generation, supervisor)
        finally:
            self._close(generation, supervisor)
        return None

    def _begin(self, generation: Generation, supervisor: Supervisor) -> None:
        if generation.number == 0:
            try:
                supervisor.open()
            finally:
                self._owner.worker_ready(self)
            return
        retry_ns = self.record.failed(self._stall())
        if self.hung <= self._services.limits.hung:
            supervisor.make_later(retry_ns)
        else:
            supervisor.leave_for_dead()

    def _loop(self, generation: Generation, supervisor: Supervisor) -> None:
        if generation.carried is not None:
            self._outlet(generation.carried)
            if isinstance(generation.carried, Eos):
                return
        while True:
            entry: Any = None  # holds no picture, whose slot its pool may need, while it waits for the next
            if not self._tend(generation, supervisor, None):
                return
            entry = self._inbox.get(supervisor.patience_ns())
            if entry is None and self._inbox.closed:
                return
            if not self._tend(generation, supervisor, entry):
                return
            if entry is None:
                continue
            if isinstance(entry, Event):
                if not self._pass_event(generation, supervisor, entry) or isinstance(entry, Eos):
                    return
            elif not self._pass_item(generation, supervisor, entry):
                return

    def _pass_event(self, generation: Generation, supervisor: Supervisor, event: Event) -> bool:
        if isinstance(event, Flush):
            self._epoch = max(self._epoch, event.epoch)
        self._hold(generation, event, self._services.clock.now_ns())
        supervisor.handle(event)
        if not self._release(generation):
            return False
        self._outlet(event)
        return True

    def _pass_item(self, generation: Generation, supervisor: Supervisor, item: Any) -> bool:
        if item.epoch < self._epoch:
            self._services.drops.add(self.name, "flushed")
            return True
        in_ns = self._services.clock.now_ns()
        self._hold(generation, item, in_ns)
        result = self._made_of(generation, item, supervisor)
        out_ns = self._services.clock.now_ns()
        if not self._release(generation):
            return False
        self._durations.record(out_ns - in_ns)
        if self._services.spans is not None:
            self._services.spans.add(self.name, item.seq, in_ns, out_ns)
        if isinstance(result, Drop):
            self._services.drops.add(self.name, result.cause)
        else:
            result.trace.add(self.name, in_ns, out_ns)
            self._outlet(result)
        return True

    def _made_of(self, generation: Generation, item: Any, supervisor: Supervisor) -> Any:
        if not supervisor.up:
            return self._fallback(item, supervisor, None)
        try:
            return supervisor.part.process(item)
        except SafetyStopError:
            raise
        except Exception as error:  # border: a stage of any library may fail in any way
            if generation.abandoned:
                return Drop("late")  # counted by ``release``; the failure was noted when it hung
            supervisor.failed(error)
            return self._fallback(item, supervisor, error)

    def _fallback(self, item: Any, supervisor: Supervisor, error: BaseException | None) -> Any:
        self.record.tally.add("fallbacks")
        if supervisor.part is None:
            return Drop("fallback-failed")
        try:
            return supervisor.part.fallback(item, error)
        except Exception as second:  # border: as above; the picture is lost rather than shown unsafe
            log_traceback(f"the fallback of {self.name}", second)
            return Drop("fallback-failed")
