"""Media time: rescaling and adding, exactly."""

import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.timing import NANOSECONDS, SystemClock, Timestamp

pytestmark = pytest.mark.unit

TIME_BASES = st.sampled_from(
    [Fraction(1, 90_000), Fraction(1001, 30_000), Fraction(1, 15_360), Fraction(1, 1000)]
)


@pytest.mark.parametrize(
    ("pts", "time_base", "seconds"),
    [(0, Fraction(1, 30), 0.0), (90_000, Fraction(1, 90_000), 1.0), (-45_000, Fraction(1, 90_000), -0.5)],
)
def test_seconds(pts: int, time_base: Fraction, seconds: float) -> None:
    assert Timestamp(pts, time_base).seconds == seconds


def test_rescale_keeps_the_instant_of_a_fractional_frame_rate() -> None:
    assert Timestamp(30_000, Fraction(1001, 30_000)).rescale(Fraction(1, 90_000)) == Timestamp(
        90_090_000, Fraction(1, 90_000)
    )


@given(st.integers(-(2**40), 2**40), TIME_BASES, TIME_BASES)
def test_rescale_is_off_by_half_a_tick_at_most(pts: int, old: Fraction, new: Fraction) -> None:
    rescaled = Timestamp(pts, old).rescale(new)
    assert abs(rescaled.pts * new - pts * old) <= new / 2


@given(st.integers(-(2**40), 2**40), TIME_BASES, st.integers(-1000, 1000))
def test_adding_whole_ticks_adds_them(pts: int, time_base: Fraction, ticks: int) -> None:
    assert Timestamp(pts, time_base) + ticks * time_base == Timestamp(pts + ticks, time_base)


def test_system_clock_is_monotonic_and_its_wait_times_out() -> None:
    clock, condition = SystemClock(), threading.Condition()
    before = clock.now_ns()
    with condition:
        assert not clock.wait(condition, 1)
        assert not clock.wait(condition, -NANOSECONDS)  # a deadline that has passed does not block
    assert clock.now_ns() > before
