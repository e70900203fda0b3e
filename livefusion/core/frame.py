"""The frame that travels through the graph, and what becomes of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.core.trace import FrameTrace


class Buffer(Protocol):
    """Where the NV12 pixels of a frame lie (``devices.pool.DeviceBuffer`` is the one implementation)."""

    @property
    def device(self) -> str:
        """Name of the device that holds the pixels, for example ``cpu``."""
        ...

    @property
    def home(self) -> Any:
        """The ``devices.device.Device`` that holds the pixels."""
        ...

    @property
    def luma(self) -> Any:
        """(height, width) uint8 array of the device."""
        ...

    @property
    def chroma(self) -> Any:
        """(height/2, width/2, 2) uint8 array of the device: Cb, Cr."""
        ...

    @property
    def nv12(self) -> Any:
        """Both planes as one (height·3/2, width) uint8 array of the device."""
        ...

    @property
    def ready(self) -> Any:
        """The device event after which the pixels may be read or changed; None when they already may."""
        ...

    def after(self, event: Any) -> "Buffer":
        """The same pixels, ready after another event."""
        ...

    def read_until(self, event: Any, stream: Any) -> None:
        """Keep the next user of the memory from writing before ``event``, the end of a read on ``stream``."""
        ...


@dataclass(frozen=True, slots=True, repr=False)
class Frame:
    """One NV12 picture with its media time ``ts`` and the monotonic time it was captured at.

    ``seq`` rises strictly within a source; ``epoch`` rises with each flush, and stages discard older epochs.
    The frame is immutable. Its pixels have one writer at a time: the decoder, then the render stage;
    everybody after that only reads. The slot that holds them goes back to its pool when the last reference
    to ``buffer`` is gone.
    """

    seq: int
    source_id: str
    ts: Timestamp
    captured_ns: int
    size: Size
    color: ColorInfo
    buffer: Buffer
    epoch: int = 0
    trace: FrameTrace = field(default_factory=FrameTrace, compare=False)

    def with_buffer(self, buffer: Buffer) -> "Frame":
        """The same frame with its pixels elsewhere or ready at another event."""
        # Not by dataclasses.replace, which takes 10 µs.
        return Frame(
            self.seq,
            self.source_id,
            self.ts,
            self.captured_ns,
            self.size,
            self.color,
            buffer,
            self.epoch,
            self.trace,
        )

    def __repr__(self) -> str:
        return f"<Frame {self.seq} pts={self.ts.pts} {self.size} on {self.buffer.device}>"


class Outcome(StrEnum):
    """What the picture shows of the faces known in it."""

    SWAPPED = "swapped"  # every known face is another face
    SAFE = "safe"  # the safety policy drew over at least one face, or over the picture
    CLEAR = "clear"  # no face is known in it
    RAW = "raw"  # a known face is shown as it is


class FrameCarrier:
    """Something that wraps a frame and is numbered like it (``core.events.Item``)."""

    __slots__ = ()
    frame: Frame

    @property
    def seq(self) -> int:
        """Sequence number of the frame."""
        return self.frame.seq

    @property
    def epoch(self) -> int:
        """Epoch of the frame."""
        return self.frame.epoch

    @property
    def captured_ns(self) -> int:
        """Monotonic time at which the frame was captured."""
        return self.frame.captured_ns

    @property
    def trace(self) -> FrameTrace:
        """When each stage held the frame."""
        return self.frame.trace


@dataclass(frozen=True, slots=True)
class RenderedFrame(FrameCarrier):
    """A frame that is fit to leave the graph, and what it shows.

    ``stands_in`` marks a repeat or a slate, which is shown in place of a frame of the source.
    """

    frame: Frame
    outcome: Outcome
    stands_in: bool = False
