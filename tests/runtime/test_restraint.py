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


def ladder() -> tuple[ScriptedClock, DeadlineLadder]:
    clock = ScriptedClock()
    return clock, DeadlineLadder(("enhance", "occlusion", "refine"), BUDGET, clock)


def admit(clock: ScriptedClock, steps: DeadlineLadder, age_ns: int) -> bool:
    return steps.admit(clock.now_ns() - age_ns)


def test_each_late_frame_leaves_out_one_more() -> None:
    clock, steps = ladder()
    left_out = []
    for _ in range(4):
        assert admit(clock, steps, BUDGET + 1) or steps.level == 3
        left_out.append([rung for rung in ("enhance", "occlusion", "refine") if not steps.allows(rung)])
    assert left_out[0] == ["enhance"]
    assert left_out[2] == left_out[3] == ["enhance", "occlusion", "refine"]


def test_frames_are_dropped_only_at_the_top_and_never_two_in_a_row() -> None:
    clock, steps = ladder()
    admitted = [admit(clock, steps, 10 * BUDGET) for _ in range(8)]
    assert admitted == [True, True, True, False, True, False, True, False]
    assert admit(clock, steps, 0)


def test_it_climbs_a_level_each_three_clean_seconds() -> None:
    clock, steps = ladder()
    for _ in range(2):
        admit(clock, steps, BUDGET + 1)
    levels = []
    for _ in range(7):
        clock.advance(NANOSECONDS)
        admit(clock, steps, BUDGET)
        levels.append(steps.level)
    assert levels == [2, 2, 1, 1, 1, 0, 0]


def test_one_late_frame_starts_the_clean_time_anew() -> None:
    clock, steps = ladder()
    admit(clock, steps, BUDGET + 1)
    clock.advance(2 * NANOSECONDS)
    admit(clock, steps, BUDGET + 1)
    clock.advance(2 * NANOSECONDS)
    admit(clock, steps, BUDGET)
    assert steps.level == 2


def test_the_switch_interval_comes_back_after_the_last_graph() -> None:
    before = sys.getswitchinterval()
    interval = SwitchInterval()
    interval.shorten()
    interval.shorten()
    interval.restore()
    assert sys.getswitchinterval() == pytest.approx(1e-4)
    interval.restore()
    assert sys.getswitchinterval() == pytest.approx(before)
