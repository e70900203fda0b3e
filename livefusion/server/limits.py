"""How much of everything who asks may have."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from livefusion.core.timing import NANOSECONDS

_REMEMBERED = 1024
"""Addresses whose counts are kept; of more the one that was quiet for longest is forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many at once, and so many more each second."""

    burst: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What one door gives: connections in all, seconds, and what comes from one address.

    A page and its modules are ten requests, a browser that sends and watches makes five more.
    """

    connections: int = 128
    head_seconds: float = 10.0
    """For the first line and the headers of the first request, and for the handshake of TLS."""
    body_seconds: float = 10.0
    idle_seconds: float = 15.0
    """For how long a connection is kept for the next request."""
    requests: Rate = Rate(200, 40.0)
    offers: Rate = Rate(64, 4.0)
    wrong_tokens: Rate = Rate(10, 0.2)
    """Beyond them nothing is heard from that address for a while, not even the right token."""


class Buckets:
    """Counts what comes from each address, and says when it is too much. For one thread."""

    def __init__(self, rate: Rate, now_ns: Callable[[], int]) -> None:
        self._rate = rate
        self._now_ns = now_ns
        self._left: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, address: str) -> bool:
        """One more from that address; False if it may not."""
        left = self._of(address)
        self._left[address] = (left - 1 if left >= 1 else left, self._now_ns())
        self._left.move_to_end(address)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return left >= 1

    def has(self, address: str) -> bool:
        """Whether one more would be allowed."""
        return self._of(address) >= 1

    def _of(self, address: str) -> float:
        full = float(self._rate.burst)
        left, at_ns = self._left.get(address, (full, self._now_ns()))
        return min(full, left + (self._now_ns() - at_ns) / NANOSECONDS * self._rate.per_second)


def network_of(address: str | None) -> str:
    """What is counted together: an IPv4 address, and of IPv6 the 64 bits that one household gets."""
    if address is None:
        return ""
    if ":" not in address or address.lower().startswith("::ffff:"):
        return address.rpartition(":")[2] if ":" in address else address
    import ipaddress

    try:
        network = ipaddress.ip_network((address.partition("%")[0], 64), strict=False)
    except ValueError:
        return address
    return str(network)
