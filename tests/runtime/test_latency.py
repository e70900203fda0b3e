"""Histograms stay within 2 %, counters and timelines tell what happened."""

import json
import random
from pathlib import Path

import pytest

from livefusion.core.errors import OutputError
from livefusion.runtime.chrome_trace import SpanLog
from livefusion.runtime.counters import DropCounters, Tally
from livefusion.runtime.latency import LatencyBook, LatencySummary, LogHistogram

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("scale_ns", [5_000, 200_000, 16_000_000, 2_000_000_000])
def test_percentiles_are_within_two_percent(scale_ns: int) -> None:
    rng = random.Random(scale_ns)
    durations = sorted(round(scale_ns * rng.lognormvariate(0, 0.7)) for _ in range(1_001))
    histogram = LogHistogram()
    for duration in durations:
        histogram.record(duration)
    for percent in (1, 50, 95, 99, 100):
        exact = durations[max(0, -(-len(durations) * percent // 100) - 1)] / 1e6
        assert histogram.percentile(percent) == pytest.approx(exact, rel=0.02)
    assert histogram.summary().max == durations[-1] / 1e6


@pytest.mark.parametrize(("duration_ns", "p50"), [(0, 0.0), (-5, 0.0), (10**15, 100_000.0)])
def test_what_is_out_of_range_is_counted_at_the_edge(duration_ns: int, p50: float) -> None:
    histogram = LogHistogram()
    histogram.record(duration_ns)
    assert histogram.summary().count == 1
    assert histogram.percentile(50) == pytest.approx(p50, rel=0.02, abs=1e-3)


def test_an_empty_histogram_is_all_zeros() -> None:
    assert LogHistogram().summary() == LatencySummary()


def test_a_book_keeps_one_histogram_a_name() -> None:
    book = LatencyBook()
    book.histogram("decode").record(1_000_000)
    book.histogram("decode").record(3_000_000)
    assert book.snapshot()["decode"].count == 2


def test_drops_are_told_by_edge_and_cause() -> None:
    drops = DropCounters()
    drops.add("a→b", "late", 2)
    drops.add("a→b", "newest-wins")
    drops.add("a→b", "late")
    assert drops.report() == {"a→b:late": 3, "a→b:newest-wins": 1}
    tally = Tally()
    tally.add("late")
    assert (tally["late"], tally["never"]) == (1, 0)


def test_a_timeline_has_a_row_for_each_stage(tmp_path: Path) -> None:
    log = SpanLog(capacity=2)
    log.add("gone", 0, 0, 1)
    log.add("analyse", 7, 3_000, 5_000)
    log.add("decode", 7, 1_000, 3_000)
    log.write(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))["traceEvents"]
    rows = {event["args"]["name"]: event["tid"] for event in events if event["ph"] == "M"}
    spans = [(event["tid"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"]
    assert spans == [(rows["decode"], 0.0, 2.0), (rows["analyse"], 2.0, 2.0)]


def test_a_timeline_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="timeline"):
        SpanLog().write(tmp_path / "nowhere" / "trace.json")
