"""The sound of a video file, read beside the pictures."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from av.error import FFmpegError

from livefusion.media.sources.demux import open_container, read_only
from livefusion.media.sources.timeline import JUMP_SECONDS

_log = logging.getLogger(__name__)


class FileAudio:
    """Sound of a file; every sink opens a reader of its own, so that none waits for another."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def open(self) -> "AudioReader | None":
        """A new reader, or None if the file has no readable sound."""
        try:
            container = open_container(self._path)
        except (FFmpegError, OSError, ValueError) as error:
            _log.warning("sound of %s is left out: %s", self._path.name, error)
            return None
        for stream in container.streams.audio:
            if stream.codec_context is not None and stream.codec_context.sample_rate:
                read_only(container, stream)
                return AudioReader(container, stream)
        container.close()
        return None


class AudioReader:
    """Gives the packets of one audio stream up to a moment of media time."""

    def __init__(self, container: Any, stream: Any) -> None:
        self._container = container
        self._stream = stream
        self._packets: Iterator[Any] = container.demux(stream)
        self._next: Any = None
        self._ended = False
        self._shift = 0
        self._end = 0

    @property
    def stream(self) -> Any:
        """The ``av.AudioStream`` that the packets belong to."""
        return self._stream

    def until(self, seconds: float) -> Iterator[Any]:
        """The packets that start before ``seconds`` of media time and were not given yet, in order."""
        while (packet := self._peek()) is not None:
            if packet.pts * packet.time_base >= seconds:
                return
            self._next = None
            yield packet

    def close(self) -> None:
        """Close the file."""
        self._ended = True
        self._next = None
        self._container.close()

    def _peek(self) -> Any:
        while self._next is None and not self._ended:
            try:
                packet = next(self._packets, None)
            except FFmpegError as error:
                _log.warning("sound ends early: %s", error)
                packet = None
            if packet is None:
                self._ended = True
            elif packet.pts is not None and packet.size:
                self._next = self._in_line(packet)
        return self._next

    def _in_line(self, packet: Any) -> Any:
        """The packet behind the one before it, also where a joined file begins its time anew."""
        pts = packet.pts + self._shift
        if (self._end - pts) * packet.time_base > JUMP_SECONDS:
            self._shift += self._end - pts
        packet.dts = None if packet.dts is None else packet.dts + self._shift
        packet.pts += self._shift
        self._end = packet.pts + (packet.duration or 0)
        return packet
