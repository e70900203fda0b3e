"""Where finished pictures leave the graph."""

from dataclasses import dataclass, field
from typing import Protocol

from livefusion.core.frame import RenderedFrame
from livefusion.media.formats import OutputFormat


@dataclass(slots=True)
class SinkStats:
    """What a sink did so far; the report's entry under ``outputs``."""

    uri: str
    frames: int = 0
    bytes: int = 0
    errors: list[str] = field(default_factory=list)
    reconnects: int = 0


class Sink(Protocol):
    """Takes what it is given at once; cadence, repeats and panic are the pacer's. Used on one thread."""

    @property
    def stats(self) -> SinkStats:
        """What the sink did so far."""
        ...

    def open(self, output: OutputFormat) -> None:
        """Get ready. ``OutputError`` or ``DriverError`` if that cannot be."""
        ...

    def write(self, rendered: RenderedFrame) -> int:
        """Show or store a picture; the number of bytes that this gave. ``OutputError`` if it failed."""
        ...

    def close(self) -> None:
        """Finish the output; also after a failure."""
        ...
