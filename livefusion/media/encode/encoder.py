"""What turns pictures into packets."""

from collections.abc import Sequence
from typing import Any, Protocol

from livefusion.core.frame import Frame
from livefusion.media.formats import OutputFormat


class Encoder(Protocol):
    """A live video encoder: one packet out for each frame in, no reordering. Used on one thread."""

    @property
    def codec(self) -> str:
        """FFmpeg's name of the codec, for muxers: ``h264``."""
        ...

    def open(self, output: OutputFormat) -> None:
        """Get ready for pictures; those of another size or colour are brought to that of ``output``."""
        ...

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        """The ``av.Packet`` of a frame, pts in ``output.time_base``; on demand one to start decoding at.

        Timestamps must rise strictly.
        """
        ...

    def flush(self) -> Sequence[Any]:
        """The packets that are still inside."""
        ...

    def close(self) -> None:
        """Give back what ``open`` took."""
        ...
