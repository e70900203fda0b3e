"""How a run is going: a live line on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from livefusion.cli.console import Console

if TYPE_CHECKING:
    from livefusion.pipeline.parts import Progress

LIVE_INTERVAL = 0.25
"""Seconds between two looks at a run; Ctrl-C is heard within it on every system."""
PLAIN_INTERVAL = 5.0
COMPILE_SECONDS = 3.0
"""A start that takes longer is the first one on a machine, where numba has to compile."""


class ProgressView:
    """Shows progress on a console; ``clock`` gives monotonic seconds."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._began = clock()
        self._plain_due = self._began + PLAIN_INTERVAL
        if console.live:
            console.status(self._preparation())

    def show(self, progress: "Progress") -> None:
        """Renew the live line, or write a plain one when it is due."""
        line = progress_line(progress) if progress.delivered else self._preparation()
        if self._console.live:
            self._console.status(line)
        elif self._clock() >= self._plain_due:
            self._plain_due = self._clock() + PLAIN_INTERVAL
            self._console.note(line)

    def close(self) -> None:
        """Take the live line away."""
        self._console.status("")

    def _preparation(self) -> str:
        is_long = self._clock() - self._began >= COMPILE_SECONDS
        return f"getting ready …{' compiling for this machine, once' if is_long else ''}"


def progress_line(progress: "Progress") -> str:
    """``42 % · 0:12 left · 30.0 fps · delay 12 ms · 0 skipped · 1 face · cpu``."""
    faces = f"{progress.tracks} face{'' if progress.tracks == 1 else 's'}"
    parts = [
        f"{progress.fps:.1f} fps",
        f"delay {progress.p95_ms:.0f} ms",
        f"{progress.dropped} skipped",
        faces,
        progress.device,
        *(f"without {work}" for work in progress.left_out),
    ]
    if progress.total:
        share = min(1.0, progress.delivered / progress.total)
        parts.insert(0, f"{share:4.0%}")
        if progress.fps > 0:
            seconds = round(max(0, progress.total - progress.delivered) / progress.fps)
            parts.insert(1, f"{seconds // 60}:{seconds % 60:02} left")
    else:
        parts.insert(0, f"{progress.delivered} pictures")
    return " · ".join(parts)


def tell_on(console: Console, clock: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Who shows how far a long piece of work is: a live line on a terminal, a plain line now and then."""
    due = [clock() + PLAIN_INTERVAL]

    def tell(text: str) -> None:
        if console.live:
            console.status(text)
        elif clock() >= due[0]:
            due[0] = clock() + PLAIN_INTERVAL
            console.note(text)

    return tell
