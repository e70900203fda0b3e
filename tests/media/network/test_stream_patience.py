from itertools import accumulate

import pytest

from livefusion.media.network.patience import LONGEST_NS, SHORTEST_NS, Patience

pytestmark = pytest.mark.unit

_MS = 1_000_000


def _after(gaps_ms: list[int]) -> Patience:
    patience = Patience()
    for now_ms in accumulate(gaps_ms, initial=0):
        patience.arrived(now_ms * _MS)
    return patience


@pytest.mark.parametrize(
    ("gaps_ms", "expected_ms"),
    [
        ([], 1000),  # nothing is known yet
        ([33] * 7, 1000),
        ([33] * 60, 250),  # three intervals would be 100 ms
        ([100] * 60, 300),
        ([33] * 59 + [333], 3 * 38 + 295),  # it came 295 ms late once
        ([400] * 60, 1000),
        ([0] * 30 + [33] * 60, 250),  # a server begins with what it has kept
        ([333] + [33] * 128, 250),  # long ago
    ],
)
def test_it_goes_by_how_pictures_came(gaps_ms: list[int], expected_ms: int) -> None:
    assert _after(gaps_ms).nanoseconds == expected_ms * _MS


def test_what_was_gone_does_not_count() -> None:
    patience = _after([33] * 60)
    patience.pause()
    patience.arrived(3_600_000 * _MS)
    assert patience.nanoseconds == SHORTEST_NS < LONGEST_NS
