"""Faults in quick succession, and the file from which a long measurement goes on."""

from collections import Counter
from pathlib import Path

import pytest

from livefusion.cli.bench.fault_tally import FaultTally
from livefusion.core.frame import Outcome
from livefusion.testing.court import ChaosResult
from livefusion.testing.injections import Reels
from livefusion.testing.storm import run_storm

pytestmark = pytest.mark.chaos


@pytest.mark.timeout(600)
@pytest.mark.parametrize("fragile", [False, True])
def test_no_storm_shows_a_face(reels: Reels, fragile: bool) -> None:
    result = run_storm(reels, 60, seed=3, fragile=fragile)
    assert result.raw == []
    assert result.outcomes[Outcome.RAW] == 0
    assert result.out_of_order == 0
    assert result.struck.total() >= 60
    kinds = {name.split()[0] for name in result.struck}
    assert {"policy", "source", "sink"} <= kinds
    assert result.struck["sink 1 raises"] == result.struck["sink 2 raises"] == 1
    if fragile:
        assert any(name.endswith(("lost", "starved")) for name in result.struck)  # either way to the CPU


def test_a_tally_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    result = ChaosResult(struck=Counter({"a raises": 3}), pictures=7, outcomes=Counter({Outcome.SAFE: 7}))
    first = FaultTally(path)
    first.add("run 1", result)
    again = FaultTally(path)
    assert again.has("run 1")
    assert not again.has("run 2")
    assert (again.total.struck, again.total.outcomes, again.raw) == (result.struck, result.outcomes, 0)
    again.add("run 2", result)
    assert FaultTally(path).total.struck == Counter({"a raises": 6})
    assert FaultTally(None).total.pictures == 0
