"""How long a stream may say nothing before that is told."""

from collections import deque

from livefusion.core.timing import NANOSECONDS

SHORTEST_NS = NANOSECONDS // 4
LONGEST_NS = NANOSECONDS
_FEWEST, _KEPT = 8, 128
_INTERVALS = 3


class Patience:
    """Judges silence by how pictures came so far.

    Nobody says that datagrams end, nor does a server say that its publisher was killed: only their absence
    tells. Three pictures missing, beside the worst delay among the last 128, is taken for the end: 0.25 s at
    least, since networks that drop a packet once in a while send it again within that, and a second at most.
    """

    def __init__(self) -> None:
        self._gaps: deque[int] = deque(maxlen=_KEPT)
        self._last_ns: int | None = None

    @property
    def nanoseconds(self) -> int:
        """The silence that is borne now; the longest until enough pictures came to judge."""
        if len(self._gaps) < _FEWEST:
            return LONGEST_NS
        mean = sum(self._gaps) // len(self._gaps)
        limit = _INTERVALS * mean + max(self._gaps) - mean
        return max(SHORTEST_NS, min(LONGEST_NS, limit))

    def arrived(self, now_ns: int) -> None:
        """A picture came."""
        if self._last_ns is not None:
            self._gaps.append(now_ns - self._last_ns)
        self._last_ns = now_ns

    def pause(self) -> None:
        """The stream was gone: the time until its next picture says nothing about it."""
        self._last_ns = None
