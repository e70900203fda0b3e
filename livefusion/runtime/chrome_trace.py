"""The timeline of a run as Chrome trace JSON, for chrome://tracing and Perfetto."""

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from livefusion.core.files import write_whole


class SpanLog:
    """The newest ``capacity`` spans (stage, sequence number, in, out), oldest first; any thread may add."""

    def __init__(self, capacity: int = 200_000) -> None:
        self._spans: deque[tuple[str, int, int, int]] = deque(maxlen=capacity)

    def add(self, stage: str, seq: int, in_ns: int, out_ns: int) -> None:
        """Note that ``stage`` held item ``seq`` between two monotonic instants."""
        self._spans.append((stage, seq, in_ns, out_ns))

    def write(self, path: Path) -> None:
        """Write the timeline, one row a stage. ``OutputError`` if the file cannot be written."""
        write_whole(path, json.dumps(chrome_trace(self._spans.copy())).encode())


def chrome_trace(spans: Iterable[tuple[str, int, int, int]]) -> dict[str, Any]:
    """Spans as a trace document: complete events in microseconds since the first span."""
    ordered = sorted(spans, key=lambda span: span[2])
    start_ns = ordered[0][2] if ordered else 0
    rows = {stage: row for row, stage in enumerate(dict.fromkeys(span[0] for span in ordered), start=1)}
    names = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": row, "args": {"name": stage}}
        for stage, row in rows.items()
    ]
    events = [
        {
            "name": f"frame {seq}",
            "cat": stage,
            "ph": "X",
            "pid": 1,
            "tid": rows[stage],
            "ts": (in_ns - start_ns) / 1e3,
            "dur": (out_ns - in_ns) / 1e3,
        }
        for stage, seq, in_ns, out_ns in ordered
    ]
    return {"displayTimeUnit": "ms", "traceEvents": [*names, *events]}
