"""Stages that raise or hang: what is shown meanwhile, and that they come back."""

import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceLostError, OutputError
from livefusion.core.events import Eos, Event, FormatChange, SettingsSwap
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import NANOSECONDS, Timestamp
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.graph import Graph
from livefusion.runtime.mailbox import WAIT
from livefusion.runtime.pacer import Pacing
from livefusion.runtime.services import Limits
from livefusion.runtime.stage import StageContext
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.stages import (
    FailingStage,
    Fault,
    FaultPlan,
    MemorySink,
    NullStage,
    ScriptedItem,
    ScriptedSource,
    fork_scripted,
)

pytestmark = pytest.mark.chaos

MS = 1_000_000


class Hand:
    """A source that gives what a test hands it, and a sink that says when it has come through."""

    def __init__(self, stage: Any, sink: MemorySink | None = None, **options: Any) -> None:
        self.clock = ScriptedClock()
        self.sink = sink or MemorySink()
        self.arrived = threading.Condition()
        self.seq = 0
        self.graph = Graph(self.clock, fork=fork_scripted, **options)
        self.graph.source("decode", lambda: self)
        self.graph.stage("render", stage, WAIT)
        self.graph.sink("sink", lambda: self, WAIT)
        self._changed = threading.Condition()
        self._entries: list[Any] = []
        self.graph.start()

    def give(self, entry: Any = None) -> None:
        """Hand on an event or the next item."""
        if entry is None:
            entry, self.seq = ScriptedItem(self.seq, self.clock.now_ns()), self.seq + 1
        with self._changed:
            self._entries.append(entry)
            self._changed.notify_all()

    def pass_one(self) -> ScriptedItem:
        """Hand on an item and wait until it has come to the sink."""
        self.give()
        with self.arrived:
            expected = self.seq
            assert self.arrived.wait_for(lambda: any(seq == expected - 1 for seq in self.sink.seqs), 10)
        return self.sink.items[-1]

    def end(self) -> None:
        self.give(Eos())
        assert self.graph.wait(10)

    def hung_after_a_while(self) -> int:
        """How often the stage was found hung, two seconds later, whenever the watchdog began to sleep."""
        self.clock.advance(2 * NANOSECONDS)
        return self.graph.snapshot().stages["render"].hung

    def open(self, context: StageContext) -> None: ...

    def read(self) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: self._entries)
            return self._entries.pop(0)

    def interrupt(self) -> None:
        self.give(Eos())

    def close(self) -> None: ...

    def write(self, item: Any) -> None:
        with self.arrived:
            self.sink.write(item)
            self.arrived.notify_all()

    def handle(self, event: Event) -> None:
        with self.arrived:
            self.sink.handle(event)
            self.arrived.notify_all()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait in real time for what another thread does."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


def test_a_stage_that_raises_is_covered_by_its_fallback_and_back_after_a_tenth_of_a_second() -> None:
    plan = FaultPlan({1: Fault.RAISE})
    stages: list[FailingStage] = []

    def factory() -> FailingStage:
        stages.append(FailingStage(plan))
        return stages[-1]

    hand = Hand(factory)
    assert not hand.pass_one().safe
    assert hand.pass_one().safe  # the very item that failed
    assert hand.pass_one().safe  # in back-off
    hand.clock.await_sleepers(2)  # the stage until its next try, the watchdog
    hand.clock.advance(99 * MS)
    assert hand.pass_one().safe
    hand.clock.await_sleepers(2)
    hand.clock.advance(1 * MS)
    assert not hand.pass_one().safe
    hand.end()
    figures = hand.graph.snapshot().stages["render"]
    assert (figures.failures, figures.restarts, figures.fallbacks) == (1, 1, 3)
    assert [(stage.opened, stage.closed) for stage in stages] == [(2, 2)]
    assert hand.sink.seqs == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["render", ""])
def test_a_stage_is_renewed_at_once_and_has_not_failed(name: str) -> None:
    stage = NullStage()
    hand = Hand(lambda: stage)
    hand.pass_one()
    hand.graph.renew(*filter(None, [name]))
    wait_until(lambda: stage.opened == 2)  # though nothing comes
    assert not hand.pass_one().safe
    hand.graph.renew("another")
    hand.pass_one()
    hand.end()
    figures = hand.graph.snapshot().stages["render"]
    assert (figures.failures, figures.fallbacks, figures.restarts) == (0, 0, 1)
    assert (stage.opened, stage.closed) == (2, 2)


def test_a_stage_in_back_off_is_renewed_at_once() -> None:
    stage = FailingStage(FaultPlan({0: Fault.RAISE}))
    hand = Hand(lambda: stage)
    assert hand.pass_one().safe
    hand.clock.await_sleepers(2)
    hand.graph.renew()
    wait_until(lambda: stage.opened == 2)  # on a clock that stands still
    assert not hand.pass_one().safe
    hand.end()


def test_an_item_whose_fallback_fails_is_dropped_never_shown() -> None:
    hand = Hand(lambda: FailingStage(FaultPlan({0: Fault.FALLBACK})))
    hand.give()
    hand.pass_one()
    hand.end()
    figures = hand.graph.snapshot()
    assert hand.sink.seqs == [1]
    assert figures.dropped == {"render:fallback-failed": 1}


def test_five_failures_in_a_minute_degrade_the_graph_and_the_stage_is_tried_each_five_seconds() -> None:
    plan = FaultPlan({call: Fault.RAISE for call in range(5)})
    hand = Hand(lambda: FailingStage(plan))
    for _ in range(5):
        assert not hand.graph.snapshot().degraded
        assert hand.pass_one().safe
        hand.clock.await_sleepers(2)
        hand.clock.advance(NANOSECONDS)
    assert hand.graph.snapshot().degraded
    assert hand.pass_one().safe
    hand.clock.await_sleepers(2)
    hand.clock.advance(4 * NANOSECONDS)
    assert not hand.pass_one().safe
    hand.end()
    hand.clock.advance(60 * NANOSECONDS)
    assert not hand.graph.snapshot().degraded


def test_errors_are_logged_once_a_kind(caplog: pytest.LogCaptureFixture) -> None:
    class Losing(NullStage):
        def process(self, item: Any) -> Any:
            raise DeviceLostError("the GPU is gone") if item.seq == 2 else ValueError(f"item {item.seq}")

    caplog.set_level(logging.WARNING)
    hand = Hand(Losing)
    for _ in range(3):
        hand.pass_one()
        hand.clock.await_sleepers(2)
        hand.clock.advance(NANOSECONDS)
    hand.end()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "render failed (ValueError: item 0)",
        "the GPU is gone",
    ]
    assert hand.graph.snapshot().stages["render"].errors == (
        "render failed (ValueError: item 0)",
        "the GPU is gone",
    )


def test_a_stage_that_hangs_is_replaced_and_what_it_gives_back_later_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    plan = FaultPlan({1: Fault.STALL})
    stages: list[FailingStage] = []

    def factory() -> FailingStage:
        stages.append(FailingStage(plan))
        return stages[-1]

    hand = Hand(factory)
    settings = SettingsSwap({"opacity": 0.5})
    hand.give(settings)
    hand.pass_one()
    hand.give()  # hangs
    wait_until(lambda: bool(plan.injected))
    hand.clock.await_sleepers(1)  # the watchdog
    hand.clock.advance(2 * NANOSECONDS)
    assert hand.pass_one().safe  # by the fallback of the new instance
    hand.clock.await_sleepers(2)
    hand.clock.advance(100 * MS)
    assert not hand.pass_one().safe
    plan.release()
    wait_until(lambda: bool(stages[0].closed))
    hand.end()
    figures = hand.graph.snapshot()
    assert hand.sink.seqs == [0, 2, 3]
    assert figures.dropped == {"render:stalled": 1}
    assert (figures.stages["render"].late, figures.stages["render"].restarts) == (1, 1)
    assert figures.stages["render"].errors == (
        "this machine was too busy for a while, and the picture was covered meanwhile: "
        "close other programs or choose a smaller picture",
    )
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("WARNING", figures.stages["render"].errors[0])
    ]
    assert stages[1].events[0] == settings  # the new instance knows the settings of the old one


def test_an_event_on_which_a_stage_hangs_is_not_lost() -> None:
    release = threading.Event()
    entered = threading.Event()

    class HangingOnEvents(NullStage):
        def handle(self, event: Event) -> None:
            if isinstance(event, FormatChange) and not release.is_set():
                entered.set()
                release.wait()

    change = FormatChange(Size(64, 48), ColorInfo())
    hand = Hand(HangingOnEvents, limits=Limits(first_item=1))
    hand.give(change)
    entered.wait()
    hand.clock.await_sleepers(1)
    hand.clock.advance(2 * NANOSECONDS)
    hand.pass_one()
    release.set()
    hand.end()
    assert hand.sink.events == [change, Eos()]


@pytest.mark.parametrize("entry", ["item", "event"])
def test_what_waits_while_a_stage_hangs_in_opening_is_counted_or_carried(entry: str) -> None:
    release, opening = threading.Event(), threading.Event()

    class HangingOnReopening(NullStage):
        def open(self, context: StageContext) -> None:
            self.opened += 1
            if self.opened > 1:
                opening.set()
                release.wait()

        def process(self, item: Any) -> Any:
            if item.seq == 0:
                raise ValueError("once")
            return item

    hand = Hand(HangingOnReopening, restarts=RestartPolicy(first_ns=1), limits=Limits(open_ns=MS))
    hand.pass_one()
    hand.clock.await_sleepers(2)
    change = FormatChange(Size(64, 48), ColorInfo())
    hand.clock._now_ns += 10  # the retry is due, but nobody has woken the stage: the entry will
    hand.give(change if entry == "event" else None)
    assert opening.wait(10)
    hand.clock.await_sleepers(1)
    hand.clock.advance(2 * NANOSECONDS)
    hand.pass_one()
    release.set()
    hand.end()
    figures = hand.graph.snapshot()
    assert hand.sink.events == ([change, Eos()] if entry == "event" else [Eos()])
    assert figures.captured == figures.sinks["sink"].delivered + sum(figures.dropped.values())


def test_a_stage_that_always_hangs_is_left_for_dead() -> None:
    plan = FaultPlan({call: Fault.STALL for call in range(100)})
    restarts = RestartPolicy(first_ns=0, longest_ns=0)
    hand = Hand(lambda: FailingStage(plan), limits=Limits(first_item=1, hung=2), restarts=restarts)
    for number in range(3):
        hand.give()
        wait_until(lambda number=number: len(plan.injected) > number)
        wait_until(lambda number=number: hand.hung_after_a_while() > number)
    for _ in range(3):
        hand.give()
    hand.end()
    figures = hand.graph.snapshot()
    plan.release()
    assert hand.sink.items == []
    assert figures.dropped == {"render:fallback-failed": 3, "render:stalled": 3}
    assert figures.stages["render"].hung == 3


@pytest.mark.parametrize("restart", [True, False])
def test_a_sink_comes_back_if_it_may(restart: bool) -> None:
    flaky, well = MemorySink({1: OutputError("the link is down")}), MemorySink()
    graph = Graph(fork=fork_scripted, restarts=RestartPolicy(first_ns=0))
    graph.source("decode", lambda: ScriptedSource([ScriptedItem(seq) for seq in range(5)]))
    graph.sink("flaky", lambda: flaky, WAIT, restart=restart)
    graph.sink("well", lambda: well, WAIT)
    graph.run()
    figures = graph.snapshot().sinks["flaky"]
    assert flaky.seqs == ([0, 2, 3, 4] if restart else [0])
    assert (figures.reconnects, figures.failed) == ((1, False) if restart else (0, True))
    assert well.seqs == [0, 1, 2, 3, 4]
    assert flaky.opened == flaky.closed


def test_a_sink_that_hangs_is_failed_and_stops_nobody_else() -> None:
    release = threading.Event()

    class HangingSink(MemorySink):
        def write(self, item: Any) -> None:
            release.wait()

    well = MemorySink()
    graph = Graph(fork=fork_scripted, limits=Limits(sink_ns=20 * MS, first_item=1))
    graph.source("decode", lambda: ScriptedSource([ScriptedItem(seq) for seq in range(20)], 4 * MS))
    graph.sink("hanging", HangingSink, WAIT)
    graph.sink("well", lambda: well, WAIT)
    graph.run()
    figures = graph.snapshot()
    release.set()
    assert well.seqs == list(range(20))
    assert figures.sinks["hanging"].failed
    assert sum(count for key, count in figures.dropped.items() if "hanging" in key) == 20


class Weakly(list):
    """A picture that can be watched being freed."""


@dataclass(frozen=True)
class Picture(ScriptedItem):
    pixels: Weakly = field(default_factory=Weakly)


@pytest.mark.parametrize("fault", [None, Fault.RAISE, Fault.FALLBACK, Fault.DROP])
def test_no_thread_holds_a_picture_while_it_waits(
    fault: Fault | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The slot of a picture goes back to its pool with the last reference, so a stale one costs a slot.

    Not even a log handler may hold one that keeps all its records.
    """
    caplog.set_level(logging.DEBUG, "livefusion")

    class Forgetting(MemorySink):
        def write(self, item: Any) -> None:
            written.append(item.seq)

    written: list[int] = []
    plan = FaultPlan({} if fault is None else {0: fault})
    hand = Hand(lambda: FailingStage(plan), sink=Forgetting())
    picture = Picture(0)
    freed = threading.Event()
    weakref.finalize(picture.pixels, freed.set)
    hand.give(picture)
    del picture
    wait_until(lambda: bool(written) or (fault is not None and bool(hand.graph.snapshot().dropped)))
    assert freed.wait(10)
    hand.end()


def test_panic_reaches_the_sink_though_a_stage_hangs() -> None:
    release = threading.Event()

    class Hanging(NullStage):
        def process(self, item: Any) -> Any:
            if item.seq == 2:
                release.wait()
            return item

    def slate(like: RenderedFrame) -> RenderedFrame:
        return replace(like, outcome=Outcome.SAFE)

    frames = pictures(3)
    sink = MemorySink()
    graph = Graph()
    graph.source("decode", lambda: Frames(frames))
    graph.stage("swap", Hanging, WAIT)
    graph.sink("vcam", lambda: sink, pacing=Pacing(Fraction(1, 100), slate))
    graph.start()
    wait_until(lambda: graph.snapshot().sinks["vcam"].repeated > 1)
    graph.panic.engage()
    engaged = len(sink.items)
    wait_until(lambda: graph.snapshot().sinks["vcam"].slates > 2)
    release.set()
    graph.stop()
    figures = graph.snapshot()
    # One picture may have been on its way to the sink when the switch was thrown.
    assert {item.outcome for item in sink.items[engaged + 1 :]} == {Outcome.SAFE}
    assert sink.seqs == sorted(set(sink.seqs))
    assert figures.captured == figures.sinks["vcam"].delivered + sum(figures.dropped.values()) == 3


def test_a_repeat_that_the_sink_refuses_is_no_frame_of_the_source() -> None:
    sink = MemorySink({1: OutputError("the link is down")})
    graph = Graph(restarts=RestartPolicy(first_ns=0))
    graph.source("decode", lambda: Frames(pictures(1)))
    graph.sink("net", lambda: sink, pacing=Pacing(Fraction(1, 100)), restart=True)
    graph.start()
    wait_until(lambda: graph.snapshot().sinks["net"].repeated > 1)
    graph.stop()
    figures = graph.snapshot()
    assert (figures.captured, figures.sinks["net"].delivered, figures.dropped) == (1, 1, {})
    assert figures.sinks["net"].reconnects == 1


def pictures(count: int) -> list[RenderedFrame]:
    """Swapped pictures of a stream with 100 a second."""
    buffer: Any = "picture"
    times = [Timestamp(seq, Fraction(1, 100)) for seq in range(count)]
    frames = [Frame(ts.pts, "camera", ts, 0, Size(64, 48), ColorInfo(), buffer) for ts in times]
    return [RenderedFrame(frame, Outcome.SWAPPED) for frame in frames]


class Frames:
    """Gives some pictures, then waits to be interrupted."""

    def __init__(self, frames: list[RenderedFrame]) -> None:
        self._frames = iter(frames)
        self._interrupted = threading.Event()

    def open(self, context: StageContext) -> None: ...

    def read(self) -> Any:
        frame = next(self._frames, None)
        if frame is None:
            self._interrupted.wait()
            return Eos()
        return frame

    def interrupt(self) -> None:
        self._interrupted.set()

    def close(self) -> None: ...
