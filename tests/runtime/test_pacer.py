"""The sink pacer holds the cadence, and the panic switch has the last word."""

import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.events import Discontinuity, Eos, Event, Flush, FormatChange
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.runtime.counters import DropCounters
from livefusion.runtime.mailbox import LATEST, Mailbox
from livefusion.runtime.pacer import Issue, Pacing, SinkPacer
from livefusion.runtime.panic import PanicSwitch
from livefusion.testing.clock import SoloClock

pytestmark = pytest.mark.unit

MS = 1_000_000
INTERVAL = Fraction(1, 50)
SIZE = Size(64, 48)


def frame(seq: int, ms: int | None = None, epoch: int = 0) -> RenderedFrame:
    """A picture of media time ``ms``, or of the cadence."""
    ts = Timestamp(20 * seq if ms is None else ms, Fraction(1, 1000))
    buffer: Any = f"picture {seq}"
    return RenderedFrame(Frame(seq, "camera", ts, 0, SIZE, ColorInfo(), buffer, epoch), Outcome.SWAPPED)


def slate(like: RenderedFrame) -> RenderedFrame:
    return replace(like, frame=replace(like.frame, buffer="slate"), outcome=Outcome.SAFE)


class Bench:
    """A pacer on a clock that only waiting moves; what it issues is noted with its time."""

    def __init__(
        self, interval: Fraction | None = INTERVAL, patience: Fraction | None = None, *, timed: bool = True
    ) -> None:
        self.clock = SoloClock(now_ns=0)
        self.drops = DropCounters()
        self.panic = PanicSwitch()
        self.box: Mailbox[Any] = Mailbox(LATEST, self.clock, "render→sink", self.drops)
        pacing = Pacing(interval, slate, patience, timed)
        self.pacer = SinkPacer(self.box, self.clock, self.drops, panic=self.panic, pacing=pacing)
        self.issued: list[tuple[int, Issue, RenderedFrame]] = []

    def at(self, ms: int, what: Any) -> None:
        """Put an entry, or do something, at an instant."""
        action: Callable[[], object] = what if callable(what) else lambda: self.box.put(what)
        self.clock.script(ms * MS, action)

    def write_for(self, ms: int) -> None:
        """Let the sink take its time, in which things go on arriving."""
        end_ns, pause = self.clock.now_ns() + ms * MS, threading.Condition()
        with pause:
            while self.clock.now_ns() < end_ns:
                self.clock.wait(pause, end_ns - self.clock.now_ns())

    def run(self, count: int) -> list[tuple[int, str, int]]:
        """Issue ``count`` entries; gives (instant, kind, media time) in ms of all pictures."""
        for _ in range(count):
            entry = self.pacer.next()
            if not isinstance(entry, Event):
                self.issued.append((self.clock.now_ns() // MS, self.pacer.issue, entry))
        return [(now, str(issue), picture.frame.ts.pts) for now, issue, picture in self.issued]

    def assert_rising(self) -> None:
        seqs = [picture.seq for _, _, picture in self.issued]
        times = [picture.frame.ts.seconds for _, _, picture in self.issued]
        assert seqs == sorted(set(seqs))
        assert times == sorted(set(times))


def test_frames_in_time_pass_unchanged() -> None:
    bench = Bench()
    for number in range(3):
        bench.at(20 * number, frame(number))
    assert bench.run(3) == [(0, "fresh", 0), (20, "fresh", 20), (40, "fresh", 40)]
    assert [picture.frame.buffer for _, _, picture in bench.issued] == ["picture 0", "picture 1", "picture 2"]


def test_the_last_frame_is_repeated_after_two_intervals_and_then_each() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(81, frame(4))
    assert bench.run(5) == [
        (0, "fresh", 0),
        (40, "repeated", 20),
        (60, "repeated", 40),
        (80, "repeated", 60),
        (81, "fresh", 80),
    ]
    assert {picture.frame.buffer for _, issue, picture in bench.issued if issue is Issue.REPEATED} == {
        "picture 0"
    }
    bench.assert_rising()


def test_a_sink_slower_than_the_cadence_still_gets_fresh_frames_and_the_end() -> None:
    bench = Bench()
    for number in range(10):
        bench.at(20 * number, frame(number))
    bench.at(200, Eos())
    shown = []
    for _ in range(4):
        entry = bench.pacer.next()
        shown.append(entry if isinstance(entry, Eos) else (str(bench.pacer.issue), entry.frame.ts.pts))
        bench.write_for(70)
    assert shown == [("fresh", 0), ("fresh", 60), ("fresh", 140), ("fresh", 180)]
    assert isinstance(bench.pacer.next(), Eos)


def test_a_patient_sink_gets_late_frames_and_not_their_stand_ins() -> None:
    bench = Bench(patience=Fraction(1, 5))
    bench.at(0, frame(0))
    bench.at(130, frame(1))
    assert bench.run(4) == [(0, "fresh", 0), (130, "fresh", 20), (330, "repeated", 40), (350, "repeated", 60)]
    assert bench.drops.report() == {}


def test_a_frame_whose_time_was_shown_is_late() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(41, frame(1, ms=20))
    bench.at(45, frame(2, ms=24))  # a hair after what was repeated for it
    bench.at(50, frame(3, ms=40))
    assert bench.run(3) == [(0, "fresh", 0), (40, "repeated", 20), (50, "fresh", 40)]
    assert bench.drops.report() == {"render→sink:late": 2}
    bench.assert_rising()


def test_a_slow_sink_gets_no_burst_of_repeats() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.run(2)
    bench.clock._now_ns = 500 * MS  # the sink took that long
    assert [now for now, _, _ in bench.run(3)] == [0, 40, 500, 520, 540]


def test_nothing_is_repeated_before_the_first_frame() -> None:
    bench = Bench()
    bench.at(1_000, Eos())
    assert bench.run(1) == []
    assert bench.clock.now_ns() == 1_000 * MS


def test_panic_shows_the_slate_at_once_and_each_interval_though_upstream_hangs() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(13, bench.panic.engage)
    assert bench.run(4) == [(0, "fresh", 0), (13, "slate", 20), (33, "slate", 40), (53, "slate", 60)]
    assert [picture.frame.buffer for _, _, picture in bench.issued[1:]] == ["slate"] * 3
    bench.assert_rising()


def test_a_slate_is_made_for_the_time_at_which_it_is_shown() -> None:
    """Its watermark goes by it, however long upstream hangs."""
    bench, asked = Bench(), list[RenderedFrame]()

    def make(like: RenderedFrame) -> RenderedFrame:
        asked.append(like)
        return slate(like)

    bench.pacer = SinkPacer(
        bench.box, bench.clock, bench.drops, panic=bench.panic, pacing=Pacing(INTERVAL, make)
    )
    bench.at(0, frame(0))
    bench.at(13, bench.panic.engage)
    bench.run(4)
    shown = [picture for _, issue, picture in bench.issued if issue is Issue.SLATE]
    assert [(one.seq, one.frame.ts) for one in asked] == [(one.seq, one.frame.ts) for one in shown]
    assert shown[-1].frame.ts.pts == 60


def test_panic_discards_frames_and_ends_with_the_next_new_one() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(10, bench.panic.engage)
    bench.at(20, frame(1))
    bench.at(35, bench.panic.lift)
    bench.at(61, frame(4))
    issued = bench.run(5)
    # Between the lift and the next frame the slate stays: the picture from before the panic must not return.
    assert issued == [
        (0, "fresh", 0),
        (10, "slate", 20),
        (30, "slate", 40),
        (50, "repeated", 60),
        (61, "fresh", 80),
    ]
    assert bench.issued[3][2].frame.buffer == "slate"
    assert bench.drops.report() == {"render→sink:panic": 1}
    bench.assert_rising()


def test_panic_without_pace_puts_the_slate_in_the_place_of_each_frame() -> None:
    bench = Bench(interval=None)
    bench.at(0, frame(0))
    bench.at(1, bench.panic.engage)
    bench.at(2, frame(1))
    bench.at(3, bench.panic.lift)
    bench.at(4, frame(2))
    assert bench.run(3) == [(0, "fresh", 0), (2, "slate", 20), (4, "fresh", 40)]
    assert [picture.seq for _, _, picture in bench.issued] == [0, 1, 2]
    assert bench.drops.report() == {"render→sink:panic": 1}


def test_panic_without_a_slate_shows_nothing() -> None:
    clock, drops, panic = SoloClock(0), DropCounters(), PanicSwitch()
    box: Mailbox[Any] = Mailbox(LATEST, clock, "render→sink", drops)
    pacer = SinkPacer(box, clock, drops, panic=panic, pacing=Pacing(INTERVAL))
    clock.script(0, lambda: box.put(frame(0)))
    clock.script(5 * MS, panic.engage)
    clock.script(10 * MS, lambda: box.put(frame(1)))
    clock.script(15 * MS, lambda: box.put(Eos()))
    assert pacer.next().seq == 0
    assert pacer.next() == Eos()


def test_a_format_change_ends_repeats_and_shapes_the_slate() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(10, FormatChange(Size(32, 24), ColorInfo()))
    bench.at(200, bench.panic.engage)
    assert bench.run(3) == [(0, "fresh", 0), (200, "slate", 20)]
    assert bench.issued[1][2].frame.size == Size(32, 24)


def test_what_a_flush_voids_is_dropped() -> None:
    bench = Bench()
    bench.at(0, Flush(1))
    bench.at(1, frame(0, epoch=0))
    bench.at(2, frame(1, epoch=1))
    assert bench.run(2) == [(2, "fresh", 20)]
    assert bench.drops.report() == {"render→sink:flushed": 1}


def test_media_time_goes_on_when_the_source_starts_anew() -> None:
    bench = Bench()
    bench.at(0, frame(500, ms=10_000))
    bench.at(20, Discontinuity("loop"))
    bench.at(21, frame(501, ms=0))
    bench.at(41, frame(502, ms=20))
    assert bench.run(4) == [(0, "fresh", 10_000), (21, "fresh", 10_020), (41, "fresh", 10_040)]
    bench.assert_rising()


def test_a_closed_mailbox_ends_it() -> None:
    bench = Bench()
    bench.at(0, frame(0))
    bench.at(10, bench.box.close)
    bench.run(1)
    assert bench.pacer.next() is None


@pytest.mark.parametrize("delay", [25, 50, 130])
def test_a_way_that_grew_longer_freezes_nothing(delay: int) -> None:
    bench = Bench()
    bench.at(0, frame(0))
    for number in range(1, 30):
        bench.at(20 * number + delay, frame(number))
    bench.run(22)
    kinds = [issue for _, issue, _ in bench.issued]
    assert kinds[-10:] == [Issue.FRESH] * 10
    bench.assert_rising()


def test_a_reader_without_media_time_gets_every_frame_of_an_input_slower_than_its_time() -> None:
    fresh: dict[bool, list[Any]] = {}
    for timed in (True, False):
        bench = Bench(timed=timed)
        for seq in range(6):  # 20 ms of media time come each 100 ms
            bench.at(100 * seq, frame(seq))
        bench.at(600, Eos())
        while not isinstance(entry := bench.pacer.next(), Eos):
            bench.issued.append((bench.clock.now_ns() // MS, bench.pacer.issue, entry))
        bench.assert_rising()
        fresh[timed] = [one.frame.buffer for _, issue, one in bench.issued if issue is Issue.FRESH]
    assert fresh[False] == [f"picture {seq}" for seq in range(6)]
    assert len(fresh[True]) < 6, "what reads media time cannot be shown the past"
