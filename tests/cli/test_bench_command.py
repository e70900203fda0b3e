"""What bench says of itself, and what it does not judge."""

from types import SimpleNamespace
from typing import Any

import pytest

from livefusion.cli.bench import render, runtime
from livefusion.cli.bench.options import BenchOptions
from livefusion.cli.main import main
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.runtime.latency import LatencySummary
from livefusion.testing.reel import draw_reel

pytestmark = pytest.mark.unit


def test_help_explains_the_words_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {word} " in out for word in ("residence", "null stages", "slope", "cosine"))


@pytest.mark.parametrize(("seconds", "judged"), [(29.0, False), (30.0, True)])
def test_a_short_run_has_no_slope_to_judge(
    seconds: float, judged: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    overload = SimpleNamespace(
        captured=9,
        delivered=4,
        dropped={"edge:newest-wins": 5},
        residence=LatencySummary(),
        slope_ms_per_minute=7.0,
        inversions=0,
    )
    overhead = SimpleNamespace(overhead=LatencySummary())
    monkeypatch.setattr(runtime, "measure_overhead", lambda seconds: overhead)
    monkeypatch.setattr(runtime, "measure_overload", lambda seconds: overload)
    figures = runtime.measure(BenchOptions(seconds, 1, 0, tmp_path, lambda text: None))
    [slope] = [figure for figure in figures if "slope" in figure.name]
    assert slope.passed is (False if judged else None)
    assert ("too short to judge" in slope.name) is not judged


def test_the_time_of_rendering_is_that_of_swapping() -> None:
    reel = draw_reel(PerformerOptions.parse("performer:?size=320x240&face=120"), 2)
    spent = render.measure_render(reel, 2, 3)
    assert spent.shape == (3,)
    assert spent.min() > 0
