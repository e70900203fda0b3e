"""How the workers of a graph start together and end together."""

import logging
import threading
from collections.abc import Sequence
from typing import Final, Protocol

from livefusion.core.errors import GraphError, LiveFusionError, SafetyStopError
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.runtime.alarm import Alarm
from livefusion.runtime.priority import switch_interval
from livefusion.runtime.sink_worker import SinkWorker
from livefusion.runtime.source_worker import SourceWorker
from livefusion.runtime.stage_worker import StageWorker
from livefusion.runtime.watchdog import Watchdog
from livefusion.runtime.worker import Worker

_log = logging.getLogger(__name__)

_SINK_PATIENCE_NS: Final = 5 * NANOSECONDS
_JOIN_NS: Final = NANOSECONDS // 4
STOP_SECONDS: Final = 3.0
"""How long a graph may drain, and then once more how long its parts may take to close."""


class SideWorker(Protocol):
    """Something that works beside the path of the frames, such as the detector."""

    def start(self) -> None:
        """Start its thread."""
        ...

    def stop(self) -> None:
        """End its thread, within a second or two."""
        ...


class Lifecycle:
    """Starts the workers, opens the gate of the source once all are ready, and brings them to an end.

    The end comes from the source's ``Eos``, which each worker passes on before it ends; from ``stop``, which
    interrupts the source and then waits for the same; or from a failure. What has not ended in time is cut
    off, then given up: a thread that hangs in foreign code cannot be ended, but nothing waits for it.
    Bounds are in real time, so that a graph on a scripted clock ends too.
    """

    def __init__(self, clock: Clock) -> None:
        self.stages_ready = Alarm(clock)
        self.sinks_ready = Alarm(clock)
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._workers: tuple[Worker, ...] = ()
        self._beside: tuple[SideWorker, ...] = ()
        self._unready: set[Worker] = set()
        self._running: set[Worker] = set()
        self._failed: set[Worker] = set()
        self._error: BaseException | None = None
        self._ender: threading.Thread | None = None
        self._abandoned = False
        self._cleaned = False
        self._watchdog: Watchdog | None = None
        self.started_ns: int | None = None
        self.ended_ns: int | None = None

    def start(
        self,
        source: SourceWorker,
        stages: Sequence[StageWorker],
        sinks: Sequence[SinkWorker],
        beside: Sequence[SideWorker],
    ) -> None:
        """Start everything, sinks first."""
        self._source, self._sinks = source, tuple(sinks)
        self._workers = (*sinks, *reversed(stages), source)
        self._beside = tuple(beside)
        self._unready = set(self._workers)
        self._running = set(self._workers)
        self._watchdog = Watchdog(self._clock, (*stages, *sinks))
        switch_interval.shorten()
        for side in self._beside:
            side.start()
        for worker in self._workers:
            worker.start()
        self._watchdog.start()

    @property
    def running(self) -> bool:
        """True until the last worker has ended or was given up."""
        with self._lock:
            return bool(self._running) and not self._abandoned

    def failed(self, worker: Worker) -> bool:
        """Whether a worker has failed for good."""
        with self._lock:
            return worker in self._failed

    def worker_ready(self, worker: Worker) -> None:
        """Note that a worker has opened its part, or failed to."""
        with self._lock:
            self._unready.discard(worker)
            stages = any(isinstance(one, StageWorker) for one in self._unready)
            sinks = any(isinstance(one, SinkWorker) for one in self._unready)
        if not stages:
            self.stages_ready.set()
        if not sinks:
            self.sinks_ready.set()

    def await_parts(self) -> None:
        """Wait, on the source's thread, until all stages are open; not for ever for sinks, which may dial."""
        self.stages_ready.wait()
        self.sinks_ready.wait(_SINK_PATIENCE_NS)
        self.started_ns = self._clock.now_ns()

    def worker_done(self, worker: Worker, error: BaseException | None) -> None:
        """Note the end of a worker; one that failed is cut off, so that the others can drain."""
        if error is not None:
            self._note_failure(worker, error)
            worker.cut_off()
        with self._changed:
            self._running.discard(worker)
            if not self._running:
                self.ended_ns = self._clock.now_ns()
            self._changed.notify_all()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; False if the time ran out first. Raises what ended the graph."""
        with self._changed:
            if not self._changed.wait_for(self._has_ended, timeout_s):
                return False
        self._clean_up()
        if self._error is not None:
            raise self._error
        return True

    def stop(self, bound_s: float) -> None:
        """Bring the graph to its end; returns when it is there, after twice ``bound_s`` at the latest."""
        if not self._has_ended():
            self._end_soon(bound_s)
            with self._changed:
                self._changed.wait_for(self._has_ended)
        self._clean_up()

    def _has_ended(self) -> bool:
        return self._abandoned or not self._running

    def _note_failure(self, worker: Worker, error: BaseException) -> None:
        with self._lock:
            self._failed.add(worker)
            others = [sink for sink in self._sinks if sink not in self._failed]
            spared = isinstance(worker, SinkWorker) and others and not isinstance(error, SafetyStopError)
            if not spared and self._error is None:
                self._error = _typed(worker, error)
        if not spared:
            self._end_soon(STOP_SECONDS)

    def _end_soon(self, bound_s: float) -> None:
        with self._lock:
            if self._ender is not None:
                return
            self._ender = threading.Thread(target=self._end, args=(bound_s,), name="ender", daemon=True)
        self._ender.start()

    def _end(self, bound_s: float) -> None:
        try:
            self._source.interrupt()
        except Exception:  # border: a source of any library may fail in any way, and the end must come
            _log.exception("%s could not be interrupted", self._source.name)
        self.stages_ready.set()
        self.sinks_ready.set()
        if self._await_end(bound_s):
            return
        for worker in self._workers:
            worker.cut_off()
        if self._await_end(bound_s):
            return
        with self._lock:
            left = sorted(worker.name for worker in self._running)
        _log.warning("did not end in time and was given up: %s", ", ".join(left))
        for worker in self._workers:
            worker.give_up()
        with self._changed:
            self._abandoned = True
            self.ended_ns = self._clock.now_ns()
            self._changed.notify_all()

    def _await_end(self, bound_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(self._has_ended, bound_s)

    def _clean_up(self) -> None:
        with self._lock:
            if self._cleaned or self._watchdog is None:
                return
            self._cleaned = True
        self._watchdog.stop()
        for side in self._beside:
            side.stop()
        for worker in self._workers:
            worker.join(_JOIN_NS)
        if self._ender is not None:
            self._ender.join()
        switch_interval.restore()


def _typed(worker: Worker, error: BaseException) -> LiveFusionError:
    if isinstance(error, LiveFusionError):
        return error
    fault = GraphError(f"{worker.name} failed ({type(error).__name__}: {error})", "run it again with --debug")
    fault.__cause__ = error
    return fault
