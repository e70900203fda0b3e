"""An output container with one video stream and perhaps the sound of the input."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import av
from av.error import FFmpegError

from livefusion.core.timing import Timestamp
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.soundtrack import Soundtrack

_log = logging.getLogger(__name__)

COMMENT = "AI MODIFIED: faces in this video were changed by LiveFusion"
"""What the container of every recording says of it, with a badge in the picture or without."""


class Recording:
    """Takes encoded packets with the input's media time and stores them counted from the first picture.

    ``target`` is what FFmpeg is to write to: ``file:PATH``, a stream of the network by its URL, or an object
    with ``write``.
    Raises what PyAV raises; the sink that owns it translates.
    """

    def __init__(
        self, target: Any, muxer: str, options: Mapping[str, str], codec: str, output: OutputFormat
    ) -> None:
        self._output = output
        self._origin: Timestamp | None = None
        self._last: Timestamp | None = None
        self.bytes = 0
        """Size of the pictures so far."""
        self._container: Any = av.open(target, "w", format=muxer, options=dict(options))
        self._container.metadata["comment"] = COMMENT
        if output.label is not None:
            self._container.metadata.update(output.label.tags)
        size = output.size
        self._stream: Any = self._container.add_mux_stream(
            codec, rate=output.fps, width=size.width, height=size.height
        )
        self._stream.time_base = output.time_base
        self._soundtrack = _open_soundtrack(self._container, output)

    @property
    def empty(self) -> bool:
        """True if no picture came."""
        return self._last is None

    @property
    def seconds(self) -> float:
        """Length so far, to the end of the last picture."""
        if self._origin is None or self._last is None:
            return 0.0
        return self._end(self._last).seconds - self._origin.seconds

    def is_new(self, ts: Timestamp) -> bool:
        """True if ``ts`` lies behind the last picture."""
        return self._last is None or ts.pts > self._last.pts

    def begin(self, ts: Timestamp) -> None:
        """Take note of the next picture's time, and write the sound that starts before its end."""
        if self._origin is None:
            self._origin = ts
            if self._soundtrack is not None:
                self._soundtrack.start(ts)
        self._last = ts
        if self._soundtrack is not None:
            # Ahead of the picture: the muxer holds a packet back until the other stream has got as far.
            self._soundtrack.advance(self._end(ts))

    def mux(self, packets: Iterable[Any]) -> int:
        """Write packets of pictures; the number of bytes."""
        written = 0
        for packet in packets:
            assert self._origin is not None, "begin comes first"
            packet.pts -= self._origin.pts
            packet.dts -= self._origin.pts
            packet.duration = max(1, round(1 / (self._output.fps * self._output.time_base)))
            packet.stream = self._stream
            written += packet.size
            self._container.mux(packet)
        self.bytes += written
        return written

    def finish(self) -> None:
        """Write the sound up to the end of the last picture, and the container's index."""
        if self._soundtrack is not None and self._last is not None:
            self._soundtrack.finish(self._end(self._last))
        self._container.close()

    def release(self) -> None:
        """Stop reading the input's sound."""
        if self._soundtrack is not None:
            self._soundtrack.close()

    def _end(self, ts: Timestamp) -> Timestamp:
        return ts + 1 / self._output.fps


def _open_soundtrack(container: Any, output: OutputFormat) -> Soundtrack | None:
    reader = output.audio.open() if output.audio else None
    if reader is None:
        return None
    try:
        return Soundtrack(container, reader)
    except (FFmpegError, ValueError) as error:
        _log.warning("the sound of the input is left out: %s", error)
        reader.close()
        return None
