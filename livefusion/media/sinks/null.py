"""A sink that throws pictures away, for measuring everything before it."""

from livefusion.core.events import Event
from livefusion.core.frame import RenderedFrame
from livefusion.media.sinks.sink import SinkStats
from livefusion.runtime.stage import StageContext


class NullSink:
    """Waits until a picture is finished, as every sink must, and forgets it."""

    def __init__(self) -> None:
        self._stats = SinkStats("null:")

    @property
    def stats(self) -> SinkStats:
        """How many pictures came."""
        return self._stats

    def open(self, context: StageContext) -> None:
        """Do nothing."""

    def write(self, item: RenderedFrame) -> None:
        """Wait until the pixels are ready."""
        ready = item.frame.buffer.ready
        if ready is not None:
            ready.synchronize()
        self._stats.frames += 1

    def handle(self, event: Event) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
