"""A sink that keeps copies of what it was given, for tests that look at every byte."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.events import Event
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.timing import Timestamp
from livefusion.devices.device import Device
from livefusion.media.host import HostPictures
from livefusion.media.sinks.sink import SinkStats
from livefusion.runtime.stage import StageContext


@dataclass(frozen=True, slots=True, eq=False)
class KeptPicture:
    """A copy of a delivered picture: luma (h, w) and chroma (h/2, w/2, 2), uint8."""

    seq: int
    ts: Timestamp
    outcome: Outcome
    luma: npt.NDArray[np.uint8]
    chroma: npt.NDArray[np.uint8]


class MemorySink:
    """Keeps the last ``limit`` pictures, all of them by default, and the events between them."""

    def __init__(self, device: Device, *, limit: int | None = None) -> None:
        self._host = HostPictures(device)
        self._stats = SinkStats("memory:")
        self.pictures: deque[KeptPicture] = deque(maxlen=limit)
        self.events: list[Event] = []

    @property
    def stats(self) -> SinkStats:
        """What came."""
        return self._stats

    def open(self, context: StageContext) -> None:
        """Do nothing."""

    def write(self, item: RenderedFrame) -> None:
        """Copy the picture."""
        frame = item.frame
        luma, chroma = (plane.copy() for plane in self._host.planes(frame))
        self.pictures.append(KeptPicture(frame.seq, frame.ts, item.outcome, luma, chroma))
        self._stats.frames += 1
        self._stats.bytes += luma.nbytes + chroma.nbytes

    def handle(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    def close(self) -> None:
        """Keep everything."""
