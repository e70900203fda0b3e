"""What the tests of NVDEC and NVENC share."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from livefusion.core.events import Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.device import Device
from livefusion.media.host import HostPictures
from livefusion.media.sources.file import FileSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.media import LOSSLESS_H264, ClipFormat, pattern_picture, write_clip

SIZE = Size(64, 48)
CONTEXT = StageContext("test", SystemClock())


@dataclass(frozen=True)
class Seen:
    """A picture as it came out of a source, and its time."""

    pts: int
    luma: np.ndarray[Any, Any]
    chroma: np.ndarray[Any, Any]

    def same_as(self, other: "Seen") -> bool:
        return (
            self.pts == other.pts
            and np.array_equal(self.luma, other.luma)
            and np.array_equal(self.chroma, other.chroma)
        )


def write(path: Path, frames: int = 12, size: Size = SIZE, **form: Any) -> Path:
    form = {"codec": "libx264", "options": LOSSLESS_H264} | form
    return write_clip(path, (pattern_picture(size, index) for index in range(frames)), ClipFormat(**form))


def read(source: FileSource, device: Device) -> tuple[list[Seen], list[Event]]:
    """All pictures of a source, read on the host one after the other, and the events between them."""
    host, seen, events = HostPictures(device), [], []
    source.open(CONTEXT)
    while not isinstance(item := source.read(), Eos):
        if isinstance(item, Frame):
            luma, chroma = host.planes(item)
            seen.append(Seen(item.ts.pts, luma.copy(), chroma.copy()))
        else:
            events.append(item)
    source.close()
    return seen, events


def same(first: Sequence[Seen], second: Sequence[Seen]) -> bool:
    return len(first) == len(second) and all(
        one.same_as(other) for one, other in zip(first, second, strict=True)
    )
