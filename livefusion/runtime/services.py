"""What every worker of a graph shares."""

from dataclasses import dataclass, field

from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.runtime.backoff import RestartPolicy
from livefusion.runtime.chrome_trace import SpanLog
from livefusion.runtime.counters import DropCounters
from livefusion.runtime.latency import LatencyBook


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the parts of a graph may take before they count as hung."""

    stage_ns: int = 2 * NANOSECONDS
    """Longest time that a stage may hold an item."""
    sink_ns: int = 10 * NANOSECONDS
    """Longest time that a sink may hold an item; a disk that spins up takes seconds."""
    first_item: int = 10
    """Factor for the first item of an instance, which may compile or load what ``open`` did not."""
    open_ns: int = 60 * NANOSECONDS
    """Longest time that a part may take to be opened again; a CUDA context with its engines takes seconds."""
    hung: int = 8
    """Hung threads of one part after which it is left for dead, since each keeps its memory."""


@dataclass(frozen=True, slots=True)
class Services:
    """The clock and the books of a graph."""

    clock: Clock
    limits: Limits = field(default_factory=Limits)
    restarts: RestartPolicy = field(default_factory=RestartPolicy)
    drops: DropCounters = field(default_factory=DropCounters)
    stages: LatencyBook = field(default_factory=LatencyBook)
    """How long each stage held its items."""
    residence: LatencyBook = field(default_factory=LatencyBook)
    """From capture to the hand-over to each sink."""
    written: LatencyBook = field(default_factory=LatencyBook)
    """From capture until each sink has written the item."""
    spans: SpanLog | None = None
    """Timeline of the run, if one is wanted."""
