"""A whole graph on real threads: order, events, ends, and sinks that fail alone."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from livefusion.core.errors import (
    GraphError,
    InputError,
    LiveFusionError,
    OutputError,
    SafetyStopError,
)
from livefusion.core.events import Discontinuity, Eos, Flush
from livefusion.core.timing import NANOSECONDS
from livefusion.runtime.chrome_trace import SpanLog
from livefusion.runtime.graph import Graph
from livefusion.runtime.mailbox import LATEST, WAIT, Policy
from livefusion.runtime.stage import StageContext
from livefusion.runtime.watchdog import Watchdog
from livefusion.testing.stages import (
    MemorySink,
    NullStage,
    ScriptedItem,
    ScriptedSource,
    SlowStage,
    fork_scripted,
)

pytestmark = pytest.mark.unit

MS = 1_000_000


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def graph_of(
    script: Any, *sinks: MemorySink, stages: int = 2, policy: Policy = WAIT, interval_ns: int = 0
) -> Graph:
    graph = Graph(fork=fork_scripted)
    graph.source("decode", lambda: ScriptedSource(script, interval_ns))
    for number in range(stages):
        graph.stage(f"stage {number}", NullStage, policy)
    for number, sink in enumerate(sinks):
        graph.sink(f"sink {number}", lambda sink=sink: sink, policy)
    return graph


def items(count: int, **changes: Any) -> list[ScriptedItem]:
    return [ScriptedItem(seq, **changes) for seq in range(count)]


def endless() -> Iterator[ScriptedItem]:
    seq = 0
    while True:
        yield ScriptedItem(seq)
        seq += 1


def test_with_back_pressure_everything_arrives_everywhere_in_order() -> None:
    first, second = MemorySink(), MemorySink()
    graph = graph_of(items(100), first, second)
    graph.run()
    figures = graph.snapshot()
    assert first.seqs == second.seqs == list(range(100))
    assert (first.closed, first.events) == (1, [Eos()])
    assert figures.captured == figures.sinks["sink 1"].delivered == 100
    assert (figures.dropped, figures.order, figures.degraded, figures.running) == ({}, 0, False, False)


def test_each_item_carries_its_way_and_branches_carry_their_own() -> None:
    first, second = MemorySink(), MemorySink()
    graph_of(items(3), first, second).run()
    assert [span[0] for span in first.items[0].trace] == ["decode", "stage 0", "stage 1", "sink 0"]
    assert [span[0] for span in second.items[0].trace] == ["decode", "stage 0", "stage 1", "sink 1"]
    instants = [instant for _, begin, end in first.items[0].trace for instant in (begin, end)]
    assert instants == sorted(instants)


def test_newest_wins_adds_up() -> None:
    sink = MemorySink(duration_ns=MS)
    graph = graph_of(items(500), sink, policy=LATEST)
    graph.run()
    figures = graph.snapshot()
    assert figures.captured == figures.sinks["sink 0"].delivered + sum(figures.dropped.values()) == 500
    assert all(key.endswith(":newest-wins") for key in figures.dropped)
    assert sink.seqs == sorted(set(sink.seqs))


def test_events_stay_between_their_items() -> None:
    cut = Discontinuity("cut")
    stage = NullStage()
    sink = MemorySink()
    graph = graph_of([*items(1), cut, ScriptedItem(1)], sink, stages=0)
    graph.stage("noting", lambda: stage, WAIT)
    graph.run()
    assert stage.events == [cut, Eos()]
    assert sink.events == [cut, Eos()]
    assert (stage.opened, stage.closed) == (1, 1)


def test_items_of_an_epoch_before_the_flush_are_dropped() -> None:
    script = [ScriptedItem(0), Flush(2), ScriptedItem(1, epoch=1), ScriptedItem(2, epoch=2)]
    sink = MemorySink()
    graph = graph_of(script, sink)
    graph.run()
    assert sink.seqs == [0, 2]
    assert graph.snapshot().dropped == {"stage 0:flushed": 1}


def test_an_item_out_of_order_is_refused_and_counted() -> None:
    sink = MemorySink()
    graph = graph_of([ScriptedItem(5), ScriptedItem(5), ScriptedItem(3), ScriptedItem(6)], sink)
    graph.run()
    assert sink.seqs == [5, 6]
    assert graph.snapshot().order == 2


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (InputError("the file is damaged", "use another"), InputError, "the file is damaged: use another"),
        (ValueError("odd"), GraphError, r"decode failed \(ValueError: odd\)"),
    ],
)
def test_an_error_of_the_source_drains_and_ends_the_run(
    error: Exception, kind: type[LiveFusionError], text: str
) -> None:
    sink = MemorySink()
    graph = graph_of([*items(5), error], sink)
    with pytest.raises(kind, match=text):
        graph.run()
    assert sink.seqs == list(range(5))
    assert (sink.events, sink.closed) == ([Eos()], 1)


class Unopenable(NullStage):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def open(self, context: StageContext) -> None:
        raise self._error


def test_a_stage_that_cannot_open_at_the_start_ends_the_run() -> None:
    sink = MemorySink()
    graph = graph_of(endless(), sink)
    graph.stage("render", lambda: Unopenable(InputError("no such face")), WAIT)
    with pytest.raises(InputError, match="no such face"):
        graph.run()
    assert (sink.items, sink.closed) == ([], 1)


def test_the_safety_policy_can_end_the_run() -> None:
    class Stopping(NullStage):
        def process(self, item: Any) -> Any:
            if item.seq == 3:
                raise SafetyStopError("stopped by the safety policy")
            return item

    sink = MemorySink()
    graph = graph_of(endless(), sink)
    graph.stage("render", Stopping, WAIT)
    with pytest.raises(SafetyStopError):
        graph.run()
    figures = graph.snapshot()
    assert sink.seqs == [0, 1, 2]
    assert figures.captured == 3 + sum(figures.dropped.values())


def test_a_sink_that_fails_stops_nobody_else() -> None:
    broken, well = MemorySink({2: OutputError("the disk is full")}), MemorySink()
    graph = graph_of(items(50), broken, well)
    graph.run()
    figures = graph.snapshot()
    assert well.seqs == list(range(50))
    assert (broken.seqs, broken.closed) == ([0, 1], 1)
    assert figures.sinks["sink 0"].failed
    assert figures.sinks["sink 0"].errors == ("the disk is full",)
    assert not figures.sinks["sink 1"].failed
    lost = sum(count for key, count in figures.dropped.items() if "sink 0" in key)
    assert figures.captured == 50 == 2 + lost


def test_the_run_ends_when_the_last_sink_has_failed() -> None:
    sinks = MemorySink({1: OutputError("first")}), MemorySink({4: OutputError("last")})
    graph = graph_of(endless(), *sinks)
    with pytest.raises(OutputError, match="last"):
        graph.run()
    assert [sink.closed for sink in sinks] == [1, 1]


def test_the_safety_policy_of_one_sink_ends_the_run_of_all() -> None:
    graph = graph_of(endless(), MemorySink({2: SafetyStopError("a face leaked")}), MemorySink())
    with pytest.raises(SafetyStopError, match="leaked"):
        graph.run()


def test_a_slow_sink_slows_no_other_one() -> None:
    slow, quick = MemorySink(duration_ns=40 * MS), MemorySink()
    graph = graph_of(items(30), slow, quick, policy=LATEST, interval_ns=4 * MS)
    graph.run()
    figures = graph.snapshot()
    lost = {key: count for key, count in figures.dropped.items() if not key.startswith("stage 1→sink 0")}
    assert len(quick.items) == 30 - sum(lost.values())
    assert len(slow.items) < len(quick.items)


def test_stop_interrupts_the_source_and_lets_sinks_finish() -> None:
    sink = MemorySink()
    graph = graph_of(endless(), sink, interval_ns=MS)
    graph.start()
    assert not graph.wait(0.02)
    graph.stop()
    assert graph.wait(0)
    figures = graph.snapshot()
    assert (sink.events, sink.closed) == ([Eos()], 1)
    assert figures.captured == figures.sinks["sink 0"].delivered
    assert not figures.running


@pytest.mark.skipif(os.name == "nt", reason="signals of Windows do not reach a process from within")
def test_ctrl_c_lets_sinks_finish_their_files() -> None:
    class Interrupting(MemorySink):
        def write(self, item: Any) -> None:
            super().write(item)
            if item.seq == 3:
                os.kill(os.getpid(), signal.SIGINT)

    sink = Interrupting()
    graph = graph_of(endless(), sink, interval_ns=MS)
    with pytest.raises(KeyboardInterrupt):
        graph.run()
    assert (sink.events, sink.closed) == ([Eos()], 1)
    assert not graph.snapshot().running


def test_ctrl_c_while_it_starts_ends_what_has_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Watchdog) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watchdog, "start", interrupted)
    sink = MemorySink()
    graph = graph_of(endless(), sink, interval_ns=MS)
    with pytest.raises(KeyboardInterrupt):
        graph.run()
    assert (sink.events, sink.closed) == ([Eos()], 1)


def test_stop_is_bounded_when_the_source_hangs() -> None:
    release = threading.Event()

    class HangingSource(ScriptedSource):
        def read(self) -> Any:
            release.wait()
            return Eos()

        def interrupt(self) -> None:
            raise OSError("the driver is gone")

    sink = MemorySink()
    graph = Graph(fork=fork_scripted)
    graph.source("camera", lambda: HangingSource([]))
    graph.stage("render", NullStage)
    graph.sink("sink", lambda: sink)
    graph.start()
    graph.stop(bound_s=0.1)
    assert (sink.events, sink.closed) == ([Eos()], 1)
    release.set()
    for thread in threading.enumerate():
        if thread.name == "camera":
            thread.join()


def test_stop_is_bounded_when_a_stage_will_not_end() -> None:
    release = threading.Event()

    class Hanging(NullStage):
        def process(self, item: Any) -> Any:
            release.wait()
            return item

    sink = MemorySink()
    graph = graph_of(endless(), sink)
    graph.stage("render", Hanging, WAIT)
    graph.start()
    graph.wait(0.05)
    graph.stop(bound_s=0.1)
    figures = graph.snapshot()
    assert (sink.items, sink.closed) == ([], 1)
    assert figures.captured == sum(figures.dropped.values())
    release.set()
    for thread in threading.enumerate():
        if thread.name == "render":
            thread.join()


def test_what_runs_beside_is_started_first_and_stopped_last() -> None:
    calls: list[str] = []

    class Beside:
        def start(self) -> None:
            calls.append("start")

        def stop(self) -> None:
            calls.append("stop")

    class Noting(NullStage):
        def open(self, context: StageContext) -> None:
            calls.append("open")

        def close(self) -> None:
            calls.append("close")

    graph = graph_of(items(1), MemorySink(), stages=0)
    graph.stage("analyse", Noting)
    graph.beside(Beside())
    graph.run()
    assert calls == ["start", "open", "close", "stop"]


def test_a_graph_says_what_it_lacks() -> None:
    graph = Graph()
    with pytest.raises(GraphError, match="source"):
        graph.start()
    graph.stop()
    run = graph_of(items(1), MemorySink())
    run.run()
    with pytest.raises(GraphError, match="once"):
        run.start()


def test_the_timeline_knows_every_stage() -> None:
    spans = SpanLog()
    graph = Graph(fork=fork_scripted, spans=spans)
    graph.source("decode", lambda: ScriptedSource(items(2)))
    graph.stage("slow", lambda: SlowStage(MS), WAIT)
    graph.sink("sink", MemorySink, WAIT)
    graph.run()
    assert {(stage, seq) for stage, seq, _, _ in spans._spans} == {
        (stage, seq) for stage in ("decode", "slow", "sink") for seq in (0, 1)
    }
    assert graph.snapshot().stages["slow"].latency.p50 >= 1.0
    assert graph.snapshot().elapsed_s < 60 * NANOSECONDS
