from fractions import Fraction

import pytest

from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS
from livefusion.media.sources.pace import ReleaseClock
from livefusion.media.sources.timeline import Timeline

pytestmark = pytest.mark.unit


class JumpingClock:
    """Every wait takes exactly as long as it may."""

    def __init__(self) -> None:
        self.time_ns = 5 * NANOSECONDS
        self.waits: list[int] = []

    def now_ns(self) -> int:
        return self.time_ns

    def wait(self, condition: object, timeout_ns: int | None) -> bool:
        assert timeout_ns is not None
        self.waits.append(timeout_ns)
        self.time_ns += timeout_ns
        return False


def test_real_time_releases_a_picture_at_start_plus_its_time() -> None:
    clock = JumpingClock()
    release = ReleaseClock(clock, Pace.REALTIME)
    dues = []
    for media_ns in (0, 33_000_000, 66_000_000):
        assert release.wait_until(media_ns)
        dues.append(release.due_ns(media_ns) - 5 * NANOSECONDS)
        clock.time_ns += 5_000_000  # decoding
    assert dues == [0, 33_000_000, 66_000_000]
    assert clock.waits == [28_000_000, 28_000_000]


def test_fast_never_waits() -> None:
    clock = JumpingClock()
    release = ReleaseClock(clock, Pace.FAST)
    assert release.wait_until(0)
    assert release.wait_until(3600 * NANOSECONDS)
    assert not clock.waits


@pytest.mark.parametrize(
    ("delay_ns", "media_ns", "lateness_ns"),
    [
        (NANOSECONDS // 4, 0, NANOSECONDS // 4),  # a little late stays late, and is honestly so
        (NANOSECONDS, 0, 0),  # a suspended machine goes on from here
        (0, 3600 * NANOSECONDS, 0),  # a gap that only a damaged file has is not waited for
    ],
)
def test_what_is_far_off_its_time_moves_the_start(delay_ns: int, media_ns: int, lateness_ns: int) -> None:
    clock = JumpingClock()
    release = ReleaseClock(clock, Pace.REALTIME)
    release.wait_until(0)
    clock.time_ns += delay_ns
    release.wait_until(media_ns)
    assert clock.now_ns() - release.due_ns(media_ns) == lateness_ns
    assert not clock.waits


def test_a_machine_that_is_always_late_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = JumpingClock()
    release = ReleaseClock(clock, Pace.REALTIME)
    for second in range(100):
        release.wait_until(0)
        clock.time_ns += NANOSECONDS
        assert len(caplog.records) == (second > 0) + (second > 60)
    assert caplog.records[0].getMessage() == "input is 1.0 s off its time; going on from here"


def test_an_interrupt_ends_every_wait() -> None:
    release = ReleaseClock(JumpingClock(), Pace.REALTIME)
    release.interrupt()
    assert not release.wait_until(0)


@pytest.mark.parametrize(
    ("given_pts", "expected", "jumps"),
    [
        ([0, 33, 67, 100], [0, 33, 67, 100], []),
        ([-20, 5, 500, 501], [-20, 5, 500, 501], []),
        ([0, 33, 33, 20, 100], [0, 33, 34, 35, 100], []),
        ([None, None, 70, None], [0, 33, 70, 103], []),
        ([0, 5000, 0, 33], [0, 5000, 5033, 5066], [2]),
    ],
)
def test_timestamps_are_kept_or_mended(
    given_pts: list[int | None], expected: list[int], jumps: list[int]
) -> None:
    timeline = Timeline(Fraction(1, 1000), Fraction(30))
    stamps, jumped = [], []
    for index, pts in enumerate(given_pts):
        stamps.append(timeline.stamp(pts).pts)
        if timeline.jumped:
            jumped.append(index)
    assert stamps == expected
    assert jumped == jumps
