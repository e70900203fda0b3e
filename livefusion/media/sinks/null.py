"""A sink that throws pictures away, for measuring everything before it."""

from livefusion.core.frame import RenderedFrame
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.sink import SinkStats


class NullSink:
    """Waits until a picture is finished, as every sink must, and forgets it."""

    def __init__(self) -> None:
        self._stats = SinkStats("null:")

    @property
    def stats(self) -> SinkStats:
        """How many pictures came."""
        return self._stats

    def open(self, output: OutputFormat) -> None:
        """Do nothing."""

    def write(self, rendered: RenderedFrame) -> int:
        """Wait until the pixels are ready."""
        ready = rendered.frame.buffer.ready
        if ready is not None:
            ready.synchronize()
        self._stats.frames += 1
        return 0

    def close(self) -> None:
        """Do nothing."""
