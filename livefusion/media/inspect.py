"""What a file or stream holds beside its pictures, and the pictures' luma, for whoever examines it."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.error import FFmpegError
from av.sidedata.sidedata import Type

from livefusion.core.errors import InputError
from livefusion.core.geometry import Size
from livefusion.media.encode.sei import NOTICE_UUID
from livefusion.media.paths import leads_somewhere, require_file
from livefusion.media.sources.uri import redact

_log = logging.getLogger(__name__)

Luma = npt.NDArray[np.uint8]
_TIMEOUT_S = 10.0
_MOST_NOTICES = 1000


@dataclass(slots=True)
class Inspection:
    """An open video. ``pictures`` is read once; ``notices`` is complete when it is at its end."""

    container: Any
    notices: list[Mapping[str, Any]] = field(default_factory=list)
    key_frames: int = 0
    damaged: str = ""
    """Why reading ended early; empty if it did not."""

    @staticmethod
    def open(target: str) -> "Inspection":
        """Open a file by its path or a stream by its URL. ``InputError`` if it is no video."""
        name = redact(target)
        try:
            if "://" not in target and leads_somewhere(Path(target)):
                require_file(Path(target), "video")
            container = av.open(target, timeout=_TIMEOUT_S)
        except (FFmpegError, OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise InputError(f"{name} cannot be read as a video ({reason})", "check the name") from error
        if not container.streams.video:
            container.close()
            raise InputError(f"there is no picture in {name}", "give a video")
        return Inspection(container)

    @property
    def size(self) -> Size:
        """Size of the pictures as the container states it."""
        context = self.container.streams.video[0].codec_context
        return Size(context.width, context.height)

    @property
    def codec(self) -> str:
        """FFmpeg's name of the codec."""
        name: str = self.container.streams.video[0].codec_context.name
        return name

    @property
    def tags(self) -> dict[str, str]:
        """The metadata of the container and of its video, names in lower case."""
        stream = self.container.streams.video[0]
        return {name.lower(): value for name, value in {**stream.metadata, **self.container.metadata}.items()}

    def pictures(self, seconds: float | None = None) -> Iterator[tuple[Luma, float]]:
        """The luma (height, width) of each picture and its media time from 0 on, up to ``seconds`` of them.

        What is damaged ends it early, and ``damaged`` says why.
        """
        stream = self.container.streams.video[0]
        stream.thread_type = "AUTO"
        rate = float(stream.average_rate or 25)
        first: float | None = None
        try:
            for number, frame in enumerate(self.container.decode(stream)):
                time = float(frame.time) if frame.time is not None else number / rate
                first = time if first is None else first
                if seconds is not None and time - first >= seconds:
                    return
                self.key_frames += bool(frame.key_frame)
                self._note(frame)
                yield luma_of(frame), max(0.0, time - first)
        except (FFmpegError, OSError, ValueError) as error:
            self.damaged = str(getattr(error, "strerror", None) or error)
            _log.debug("the video ends early: %s", error)

    def close(self) -> None:
        """Close it."""
        self.container.close()

    def _note(self, frame: Any) -> None:
        if len(self.notices) >= _MOST_NOTICES:
            return
        for entry in frame.side_data:
            if entry.type is not Type.SEI_UNREGISTERED:
                continue
            content = bytes(entry)
            if content[:16] == NOTICE_UUID.bytes:
                with suppress(ValueError):  # somebody else's, under our name
                    notice = json.loads(content[16:])
                    if isinstance(notice, dict):
                        self.notices.append(notice)


def luma_of(frame: Any) -> Luma:
    """The luma of a frame in eight bits, for as long as the frame lives or as a copy."""
    if frame.format.name not in {"yuv420p", "yuvj420p", "nv12", "yuv422p", "yuvj422p", "yuv444p", "gray"}:
        frame = frame.reformat(format="gray")
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return rows[: frame.height, : frame.width].copy()
