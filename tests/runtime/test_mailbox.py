"""Mailboxes: what each policy drops, and that events keep their place."""

import threading
from collections import deque
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.events import Discontinuity, Eos, Event, Flush
from livefusion.core.timing import NANOSECONDS, SystemClock
from livefusion.runtime.counters import DropCounters
from livefusion.runtime.mailbox import LATEST, WAIT, Mailbox, Policy, Ring, Span
from livefusion.testing.clock import ScriptedClock, SoloClock

pytestmark = pytest.mark.unit


@dataclass(frozen=True)
class Packet:
    seq: int
    is_keyframe: bool = False


def drained(box: Mailbox) -> list:
    entries = []
    while (entry := box.get(0)) is not None:
        entries.append(entry)
    return entries


def test_latest_replaces_and_counts() -> None:
    drops = DropCounters()
    box: Mailbox[str] = Mailbox(LATEST, SoloClock(), "a→b", drops)
    assert box.put("one") == ()
    assert box.put("two") == ("one",)
    assert drained(box) == ["two"]
    assert drops.report() == {"a→b:newest-wins": 1}


def test_latest_keeps_events_in_their_order_round_the_surviving_item() -> None:
    box: Mailbox[str] = Mailbox(LATEST, SoloClock(), "a→b")
    before, between, after = Flush(1), Discontinuity("cut"), Eos()
    for entry in (before, "old", between, "new", after):
        box.put(entry)
    assert drained(box) == [before, between, "new", after]


@given(st.lists(st.one_of(st.none(), st.integers(1, 3))))
def test_latest_loses_no_event_and_no_order(script: list[int | None]) -> None:
    """None gets an entry; n puts n items and then an event."""
    box: Mailbox[int] = Mailbox(LATEST, SoloClock(), "a→b")
    got: deque = deque()
    put = displaced = 0
    stamp = 0
    for step in script:
        if step is None:
            got.append(box.get(0))
            continue
        for _ in range(step):
            stamp += 1
            put += 1
            displaced += len(box.put(stamp))
        stamp += 1
        box.put(Flush(stamp))
    got.extend(drained(box))
    entries = [entry for entry in got if entry is not None]
    stamps = [entry.epoch if isinstance(entry, Event) else entry for entry in entries]
    assert stamps == sorted(stamps)
    assert sum(isinstance(entry, Event) for entry in entries) == sum(step is not None for step in script)
    assert put == displaced + sum(not isinstance(entry, Event) for entry in entries)


def test_wait_blocks_the_putter_until_there_is_room() -> None:
    box: Mailbox[int] = Mailbox(WAIT, SystemClock(), "a→b")
    putter = threading.Thread(target=lambda: [box.put(number) for number in range(50)])
    putter.start()
    assert [box.get() for _ in range(50)] == list(range(50))
    putter.join()


def test_close_unblocks_putter_and_getter_and_counts_what_is_left() -> None:
    drops = DropCounters()
    box: Mailbox[str] = Mailbox(WAIT, SystemClock(), "a→b", drops)
    box.put("left")
    results: list = []
    putter = threading.Thread(target=lambda: results.append(box.put("refused")))
    putter.start()
    assert box.close("sink-closed") == ("left",)
    putter.join()
    assert results == [("refused",)]
    assert box.get() is None
    assert box.closed
    assert drops.report() == {"a→b:sink-closed": 2}


def test_events_pass_a_full_waiting_mailbox() -> None:
    box: Mailbox[str] = Mailbox(WAIT, SoloClock(), "a→b")
    box.put("item")
    box.put(Eos())
    assert drained(box) == ["item", Eos()]


@pytest.mark.parametrize(
    ("script", "kept", "dropped"),
    [
        ("Kpp", "Kpp", 0),
        ("KppKp", "Kp", 3),
        ("Kpppp", "", 5),
        ("KppppK", "K", 5),
        ("KppppKp", "Kp", 5),
        ("KKpKp", "Kp", 3),
        ("pppK", "K", 3),
    ],
)
def test_ring_drops_to_the_next_key_frame(script: str, kept: str, dropped: int) -> None:
    box: Mailbox[Packet] = Mailbox(Ring(3), SoloClock(), "encode→net")
    packets = [Packet(number, kind == "K") for number, kind in enumerate(script)]
    displaced = [packet for each in packets for packet in box.put(each)]
    left = drained(box)
    assert "".join("K" if packet.is_keyframe else "p" for packet in left) == kept
    assert len(displaced) == dropped
    assert sorted(packet.seq for packet in [*displaced, *left]) == list(range(len(script)))


def test_ring_refuses_to_hold_nothing() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Ring(0)


def test_span_holds_sound_up_to_its_length_and_drops_none() -> None:
    clock = SoloClock()
    drops = DropCounters()
    box: Mailbox[float] = Mailbox(Span(0.2, float), clock, "mic→mux", drops)
    for seconds in (0.0, 0.1, 0.19):
        assert box.put(seconds) == ()
    got: list = []
    clock.script(2 * NANOSECONDS, lambda: got.append(box.get()))
    box.put(0.25)  # waits until the first one is taken
    assert [*got, *drained(box)] == [0.0, 0.1, 0.19, 0.25]
    assert drops.report() == {}


@pytest.mark.parametrize("policy", [LATEST, WAIT, Ring(2)])
def test_get_times_out_on_the_clock(policy: Policy) -> None:
    clock = SoloClock(now_ns=0)
    assert Mailbox(policy, clock, "a→b").get(5_000_000) is None
    assert clock.now_ns() == 5_000_000


def test_wake_ends_one_wait_and_is_remembered() -> None:
    box: Mailbox[str] = Mailbox(LATEST, SoloClock(), "a→b")
    box.wake()
    assert box.get() is None
    with pytest.raises(TimeoutError):
        box.get()


def test_scripted_clock_wakes_at_the_deadline_only() -> None:
    clock = ScriptedClock(now_ns=0)
    box: Mailbox[str] = Mailbox(LATEST, clock, "a→b")
    woken: list[int] = []

    def wait(timeout_ns: int) -> None:
        assert box.get(timeout_ns) is None
        woken.append(clock.now_ns())

    threads = [threading.Thread(target=wait, args=(timeout,)) for timeout in (10, 30)]
    for thread in threads:
        thread.start()
    clock.await_sleepers(2)
    clock.advance(9)
    assert woken == []
    clock.advance(1)
    threads[0].join()
    assert woken == [10]
    clock.await_sleepers(1)
    clock.advance(100)
    threads[1].join()
    assert len(woken) == 2
