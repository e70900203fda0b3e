"""When each stage took a frame in and let it go: one small table a frame."""

from collections.abc import Iterator


class FrameTrace:
    """Monotonic (in, out) nanoseconds for each stage, in the order in which the stages were passed.

    Only the thread that holds the frame writes, so there is no lock. A fan-out ``fork``s the trace: each
    branch then has a table of its own.
    """

    __slots__ = ("_spans",)

    def __init__(self, spans: list[tuple[str, int, int]] | None = None) -> None:
        self._spans = spans if spans is not None else []

    def add(self, stage: str, in_ns: int, out_ns: int) -> None:
        """Note that ``stage`` held the frame from ``in_ns`` to ``out_ns``."""
        self._spans.append((stage, in_ns, out_ns))

    def fork(self) -> "FrameTrace":
        """A copy for one branch of a fan-out."""
        return FrameTrace(self._spans.copy())

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        return iter(self._spans)
