"""The self-check measures what it says it does."""

import pytest

from livefusion.testing.selfcheck import measure_overhead, measure_overload

pytestmark = pytest.mark.unit


def test_overhead_is_measured_on_frames_that_went_all_the_way() -> None:
    result = measure_overhead(seconds=0.2, fps=50)
    assert (result.stages, result.frames) == (6, 10)
    assert 0 < result.overhead.count <= 10
    assert 0 < result.overhead.p50 <= result.overhead.max


def test_overload_drops_by_newest_wins_only_and_adds_up() -> None:
    result = measure_overload(seconds=0.4, fps=100)
    assert result.captured == 40 == result.delivered + sum(result.dropped.values())
    assert all(key.endswith(":newest-wins") for key in result.dropped)
    assert 0 < result.delivered < 40
    assert result.inversions == 0
