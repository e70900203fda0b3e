"""Back-off and the deadline ladder: pure logic on a clock."""

import sys

import pytest

from livefusion.core.timing import NANOSECONDS
from livefusion.runtime.backoff import FailureLog, RestartPolicy
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.priority import SwitchInterval
from livefusion.testing.clock import ScriptedClock

pytestmark = pytest.mark.unit

MS = 1_000_000
BUDGET = 30 * MS


def test_back_off_doubles_and_degrades_at_the_fifth_failure() -> None:
    log = FailureLog(RestartPolicy())
    delays = [log.failed(now) - now for now in range(0, 7 * NANOSECONDS, NANOSECONDS)]
    assert [delay // MS for delay in delays] == [100, 200, 400, 800, 5_000, 5_000, 5_000]
    assert log.degraded(6 * NANOSECONDS)


def test_a_minute_without_failure_forgives() -> None:
    log = FailureLog(RestartPolicy())
    for _ in range(5):
        log.failed(0)
    assert log.degraded(60 * NANOSECONDS)
    assert not log.degraded(61 * NANOSECONDS)
    assert log.failed(61 * NANOSECONDS) == 61 * NANOSECONDS + 100 * MS


RUNGS = ("enhance", "occlusion", "refine")
PATIENCE = 3


def ladder() -> tuple[ScriptedClock, DeadlineLadder]:
    clock = ScriptedClock()
    return clock, DeadlineLadder(RUNGS, BUDGET, clock, patience=PATIENCE)


def judge(clock: ScriptedClock, steps: DeadlineLadder, *late: int, age_ns: int = BUDGET + 1) -> None:
    """Frames a millisecond apart, those of 1 late, those of 0 just in time."""
    for one in late:
        clock.advance(MS)
        steps.judge(clock.now_ns() - (age_ns if one else BUDGET))


def test_late_frames_leave_out_one_more_each_three() -> None:
    clock, steps = ladder()
    left_out = []
    for _ in range(4):
        judge(clock, steps, 1, 1, 1)
        left_out.append(steps.left_out)
        assert [rung for rung in RUNGS if not steps.allows(rung)] == list(steps.left_out)
    assert left_out == [RUNGS[:1], RUNGS[:2], RUNGS, RUNGS]


@pytest.mark.parametrize(
    ("late", "level"),
    [
        ((1, 1, 0, 0), 0),
        ((1, 0) * 20, 0),
        ((1, 1, 0) * 2, 1),
        ((0,) * 100 + (1, 1, 1), 1),
    ],
)
def test_a_few_late_frames_among_others_leave_out_nothing(late: tuple[int, ...], level: int) -> None:
    clock, steps = ladder()
    judge(clock, steps, *late)
    assert steps.level == level


def test_it_climbs_a_level_each_three_clean_seconds() -> None:
    clock, steps = ladder()
    judge(clock, steps, *(1,) * 6)
    levels = []
    for _ in range(7):
        clock.advance(NANOSECONDS)
        judge(clock, steps, 0)
        levels.append(steps.level)
    assert levels == [2, 2, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(("late", "level"), [((1, 0), 0), ((1, 1, 0), 1)])
def test_two_late_frames_together_start_the_clean_time_anew(late: tuple[int, ...], level: int) -> None:
    clock, steps = ladder()
    judge(clock, steps, 1, 1, 1)
    clock.advance(2 * NANOSECONDS)
    judge(clock, steps, *late)
    clock.advance(2 * NANOSECONDS)
    judge(clock, steps, 0)
    assert steps.level == level


def test_it_counts_the_frames_for_which_work_was_left_out() -> None:
    clock, steps = ladder()
    judge(clock, steps, *(1,) * 6, 0, 0)
    assert steps.frames == {"enhance": 6, "occlusion": 3, "refine": 0}


def test_the_switch_interval_comes_back_after_the_last_graph() -> None:
    before = sys.getswitchinterval()
    interval = SwitchInterval()
    interval.shorten()
    interval.shorten()
    interval.restore()
    assert sys.getswitchinterval() == pytest.approx(1e-4)
    interval.restore()
    assert sys.getswitchinterval() == pytest.approx(before)
