"""Where finished pictures leave the graph."""

from dataclasses import dataclass, field
from typing import Protocol

from livefusion.core.frame import RenderedFrame
from livefusion.runtime.stage import Sink


@dataclass(slots=True)
class SinkStats:
    """What a sink did so far; the report's entry under ``outputs``."""

    uri: str
    frames: int = 0
    bytes: int = 0
    errors: list[str] = field(default_factory=list)
    reconnects: int = 0
    encoders: int = 0
    """Encoders that were opened for this output alone."""


class PictureSink(Sink[RenderedFrame], Protocol):
    """A sink of the graph that is made for one ``OutputFormat`` and says what it did.

    It takes what it is given at once; cadence, repeats and panic are the pacer's. Pictures of another size
    than the format's are fitted into it.
    """

    @property
    def stats(self) -> SinkStats:
        """What the sink did so far; other threads may look."""
        ...
