"""The thread of the source: read, stamp, pass on."""

from collections.abc import Callable
from typing import Any

from livefusion.core.errors import GraphError
from livefusion.core.events import Eos, Event
from livefusion.runtime.services import Services
from livefusion.runtime.stage import StageContext
from livefusion.runtime.worker import Generation, Owner, Worker


class SourceWorker(Worker):
    """Runs the source. It opens beside the stages, and is first read when ``gate`` returns.

    Its end, for whatever reason, is an ``Eos`` for the stages. A source that waits for its input is not hung.
    """

    def __init__(
        self,
        name: str,
        factory: Callable[[], Any],
        *,
        gate: Callable[[], None],
        outlet: Callable[[Any], Any],
        services: Services,
        owner: Owner,
    ) -> None:
        super().__init__(name, services, owner)
        self._factory = factory
        self._source: Any = None
        self._gate = gate
        self._outlet = outlet
        self._stopping = False
        self._durations = services.stages.histogram(name)

    @property
    def _limit_ns(self) -> int:
        return self._services.limits.open_ns

    def _stall(self) -> GraphError:
        raise AssertionError("a source is not watched")

    def _after_hang(self, successor: Generation) -> None:
        raise AssertionError("a source is not watched")

    def cut_off(self) -> None:
        """Send the end of the stream on: the source itself may hang."""
        self._outlet(Eos())

    def interrupt(self) -> None:
        """Let the source end soon, from any thread."""
        self._stopping = True
        source = self._source
        if source is not None:
            source.interrupt()

    def _run(self, generation: Generation) -> BaseException | None:
        try:
            self._source = self._factory()
            try:
                self._source.open(StageContext(self.name, self._services.clock))
                self._gate()
                self._loop()
            finally:
                source, self._source = self._source, None
                source.close()
        finally:
            self._outlet(Eos())
        return None

    def _loop(self) -> None:
        clock, spans = self._services.clock, self._services.spans
        while not self._stopping:
            entry = self._source.read()
            if isinstance(entry, Eos):
                return
            if not isinstance(entry, Event):
                now_ns = clock.now_ns()
                self.record.tally.add("captured")
                entry.trace.add(self.name, entry.captured_ns, now_ns)
                self._durations.record(now_ns - entry.captured_ns)
                if spans is not None:
                    spans.add(self.name, entry.seq, entry.captured_ns, now_ns)
            self._outlet(entry)
            del entry  # holds no picture, whose slot its pool may need, while it reads the next
