"""The graph: a source, a chain of stages, and sinks side by side, each on a thread of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import GraphError
from livefusion.core.timing import Clock, SystemClock
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.chrome_trace import SpanLog
from livefusion.runtime.fan_out import FanOut, fork_rendered
from livefusion.runtime.lifecycle import STOP_SECONDS, Lifecycle, SideWorker
from livefusion.runtime.mailbox import LATEST, Mailbox, Policy
from livefusion.runtime.pacer import Issue, Pacing, SinkPacer
from livefusion.runtime.panic import PanicSwitch
from livefusion.runtime.services import Limits, Services
from livefusion.runtime.sink_worker import SinkWorker
from livefusion.runtime.snapshot import GraphSnapshot, SinkSnapshot, StageSnapshot
from livefusion.runtime.source_worker import SourceWorker
from livefusion.runtime.stage import Sink, Source, Stage
from livefusion.runtime.stage_worker import StageWorker


@dataclass(frozen=True, slots=True)
class _StageSpec:
    name: str
    factory: Callable[[], Stage[Any, Any]]
    policy: Policy


@dataclass(frozen=True, slots=True)
class _SinkSpec:
    name: str
    factory: Callable[[], Sink[Any]]
    policy: Policy
    pacing: Pacing | None
    restart: bool


class Graph:
    """Name ``source``, ``stage``s and ``sink``s in the order in which a frame travels, then ``run``.

    Items are whatever the source reads (``core.events.Item``). ``fork`` gives an item a trace of its own for
    each branch of the fan-out. ``panic`` may be shared with whoever has the button. A graph runs once.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        limits: Limits | None = None,
        restarts: RestartPolicy | None = None,
        panic: PanicSwitch | None = None,
        fork: Callable[[Any], Any] = fork_rendered,
        spans: SpanLog | None = None,
    ) -> None:
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.panic = panic if panic is not None else PanicSwitch()
        self._services = Services(
            self.clock, limits=limits or Limits(), restarts=restarts or RestartPolicy(), spans=spans
        )
        self._fork = fork
        self._lifecycle = Lifecycle(self.clock)
        self._source_spec: tuple[str, Callable[[], Source]] | None = None
        self._stage_specs: list[_StageSpec] = []
        self._sink_specs: list[_SinkSpec] = []
        self._beside: list[SideWorker] = []
        self._source: SourceWorker | None = None
        self._stages: list[StageWorker] = []
        self._sinks: list[SinkWorker] = []

    def source(self, name: str, factory: Callable[[], Source]) -> None:
        """Set where items come from."""
        self._source_spec = (name, factory)

    def stage(self, name: str, factory: Callable[[], Stage[Any, Any]], policy: Policy = LATEST) -> None:
        """Append a stage; ``policy`` is that of the mailbox before it. A stage that hung is made anew."""
        self._stage_specs.append(_StageSpec(name, factory, policy))

    def sink(
        self,
        name: str,
        factory: Callable[[], Sink[Any]],
        policy: Policy = LATEST,
        *,
        pacing: Pacing | None = None,
        restart: bool = False,
    ) -> None:
        """Add a sink. ``restart`` only those that lose nothing by being opened again (not files)."""
        self._sink_specs.append(_SinkSpec(name, factory, policy, pacing, restart))

    def beside(self, worker: SideWorker) -> None:
        """Add something that is started before the stages and stopped after them."""
        self._beside.append(worker)

    def start(self) -> None:
        """Start all threads and return. ``GraphError`` if there is no source or no sink, or a second time."""
        if self._source is not None:
            raise GraphError("a graph runs once")
        if self._source_spec is None or not self._sink_specs:
            raise GraphError("a graph needs a source and at least one sink")
        before = self._stage_specs[-1].name if self._stage_specs else self._source_spec[0]
        boxes = [self._mailbox(before, spec.name, spec.policy) for spec in self._sink_specs]
        self._sinks = [self._sink_worker(*pair) for pair in zip(self._sink_specs, boxes, strict=True)]
        outlet: Callable[[Any], Any] = FanOut(boxes, self._fork).put
        names = [self._source_spec[0], *(spec.name for spec in self._stage_specs)]
        for spec, upstream in reversed(list(zip(self._stage_specs, names, strict=False))):
            box = self._mailbox(upstream, spec.name, spec.policy)
            self._stages.insert(0, self._stage_worker(spec, box, outlet))
            outlet = box.put
        name, factory = self._source_spec
        self._source = SourceWorker(
            name,
            factory,
            gate=self._lifecycle.await_parts,
            outlet=outlet,
            services=self._services,
            owner=self._lifecycle,
        )
        self._lifecycle.start(self._source, self._stages, self._sinks, self._beside)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; False if the time ran out first. Raises the error that ended the graph."""
        return self._lifecycle.wait(timeout_s)

    def stop(self, bound_s: float = STOP_SECONDS) -> None:
        """Interrupt the source, drain, close: sinks get ``Eos`` and finish their files.

        Returns after twice ``bound_s`` at the latest; what still hangs then is given up.
        """
        self._lifecycle.stop(bound_s)

    def renew(self, *names: str) -> None:
        """Close the named stages, or all, and open them again before their next item; from any thread.

        They are well, but what they were opened with no longer is. Nothing counts as failed and no back-off
        is kept.
        """
        for worker in self._stages:
            if not names or worker.name in names:
                worker.renew()

    def run(self) -> None:
        """Start and wait; on Ctrl-C stop first, then raise ``KeyboardInterrupt``."""
        fresh = self._source is None
        try:  # Ctrl-C may come before the last thread has started
            self.start()
            self.wait()
        finally:
            if fresh and self._source is not None:
                self.stop()

    def snapshot(self) -> GraphSnapshot:
        """The figures of this instant; after the end, those of the run."""
        source, life = self._source, self._lifecycle
        latencies = self._services.stages.snapshot()
        end_ns = life.ended_ns or self.clock.now_ns()
        if source is None:
            raise GraphError("a graph has figures once it is started")
        return GraphSnapshot(
            running=life.running,
            elapsed_s=0.0 if life.started_ns is None else (end_ns - life.started_ns) / 1e9,
            captured=source.record.tally["captured"],
            source=latencies[source.name],
            stages={worker.name: self._stage_snapshot(worker) for worker in self._stages},
            sinks={worker.name: self._sink_snapshot(worker) for worker in self._sinks},
            dropped=self._services.drops.report(),
        )

    def _mailbox(self, upstream: str, downstream: str, policy: Policy) -> Mailbox[Any]:
        return Mailbox(policy, self.clock, f"{upstream}→{downstream}", self._services.drops)

    def _stage_worker(self, spec: _StageSpec, box: Mailbox[Any], outlet: Callable[[Any], Any]) -> StageWorker:
        return StageWorker(
            spec.name,
            spec.factory,
            inbox=box,
            outlet=outlet,
            services=self._services,
            owner=self._lifecycle,
        )

    def _sink_worker(self, spec: _SinkSpec, box: Mailbox[Any]) -> SinkWorker:
        return SinkWorker(
            spec.name,
            spec.factory,
            inbox=box,
            pacer=SinkPacer(box, self.clock, self._services.drops, panic=self.panic, pacing=spec.pacing),
            restart=spec.restart,
            services=self._services,
            owner=self._lifecycle,
        )

    def _stage_snapshot(self, worker: StageWorker) -> StageSnapshot:
        record = worker.record
        return StageSnapshot(
            latency=self._services.stages.histogram(worker.name).summary(),
            fallbacks=record.tally["fallbacks"],
            failures=record.tally["failures"],
            restarts=record.tally["restarts"],
            late=record.tally["late"],
            hung=worker.hung,
            degraded=record.degraded,
            errors=record.errors,
        )

    def _sink_snapshot(self, worker: SinkWorker) -> SinkSnapshot:
        record, services = worker.record, self._services
        return SinkSnapshot(
            delivered=record.tally[Issue.FRESH],
            repeated=record.tally[Issue.REPEATED],
            slates=record.tally[Issue.SLATE],
            order=record.tally["order"],
            residence=services.residence.histogram(worker.name).summary(),
            written=services.written.histogram(worker.name).summary(),
            writes=services.stages.histogram(worker.name).summary(),
            reconnects=record.tally["restarts"],
            failed=self._lifecycle.failed(worker),
            degraded=record.degraded,
            errors=record.errors,
        )
