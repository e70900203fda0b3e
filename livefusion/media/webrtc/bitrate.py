"""How much a connection may carry, from the loss that its receiver reports."""

FLOOR = 300_000
"""Bits a second that are never gone below: what 360p needs to be recognised."""

_HIGH, _LOW = 0.10, 0.02
_RISE = 1.08


class LossBackoff:
    """Bits a second for one connection: the ceiling, less while packets get lost.

    More than a tenth lost lowers the rate by half of that share, less than a fiftieth raises it by 8 %, as
    GCC's loss-based controller does; between the two it stays. It never starves: delay is not looked at,
    because its estimate settled at 170 kbit/s and 4 fps on an idle loopback.
    """

    def __init__(self, ceiling: int, *, floor: int = FLOOR) -> None:
        self._ceiling = ceiling
        self._floor = min(floor, ceiling)
        self._rate = float(ceiling)

    @property
    def bitrate(self) -> int:
        """Bits a second."""
        return round(self._rate)

    def report(self, lost: float) -> None:
        """Take note of the share of packets, 0…1, that got lost since the last report, a second ago."""
        if lost > _HIGH:
            self._rate *= 1 - 0.5 * min(lost, 1.0)
        elif lost < _LOW:
            self._rate *= _RISE
        self._rate = max(self._floor, min(self._ceiling, self._rate))


class LossMeter:
    """The share of packets lost between two looks, from running totals of expected and received ones."""

    def __init__(self) -> None:
        self._expected = self._received = 0

    def take(self, expected: int, received: int) -> float:
        """The share, 0…1, since the last call; a total that fell begins anew."""
        new, came = expected - self._expected, received - self._received
        self._expected, self._received = expected, received
        return 0.0 if new <= 0 else min(1.0, max(0.0, 1 - came / new))
