import pytest

from livefusion.core.timing import NANOSECONDS
from livefusion.server.limits import _REMEMBERED, Buckets, Rate, network_of

pytestmark = pytest.mark.unit


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now_ns(self) -> int:
        return round(self.seconds * NANOSECONDS)


def test_so_many_at_once_and_more_with_time() -> None:
    clock = Hand()
    buckets = Buckets(Rate(3, 2.0), clock.now_ns)
    assert [buckets.take("a") for _ in range(5)] == [True, True, True, False, False]
    assert buckets.take("b")
    assert not buckets.has("a")
    clock.seconds = 0.5
    assert buckets.has("a")
    assert [buckets.take("a") for _ in range(2)] == [True, False]
    clock.seconds = 100
    assert [buckets.take("a") for _ in range(4)] == [True, True, True, False]


def test_it_is_small_however_many_come() -> None:
    buckets = Buckets(Rate(1, 0.0), Hand().now_ns)
    for number in range(3 * _REMEMBERED):
        assert buckets.take(str(number))
    assert len(buckets._left) == _REMEMBERED
    assert not buckets.take(str(3 * _REMEMBERED - 1))


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("odd:thing", "odd:thing"),
        (None, ""),
    ],
)
def test_what_is_counted_together(address: str | None, network: str) -> None:
    assert network_of(address) == network
