"""A person who moves before a camera that is not there, as a source."""

import logging
from fractions import Fraction
from typing import Any

from livefusion.core.events import Eos, Event
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace
from livefusion.core.timing import NANOSECONDS, Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.pool import DeviceBuffer, FramePool
from livefusion.media.formats import InputFormat
from livefusion.media.sources.pace import ReleaseClock
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.media.sources.performer_truth import FaceTruth
from livefusion.runtime.stage import StageContext

_log = logging.getLogger(__name__)


class PerformerSource:
    """Delivers the moving picture that a ``performer:`` address asks for, as a camera would.

    The address is explained in ``PerformerOptions``; ``size`` and ``fps`` given here win over it. With
    ``Pace.REALTIME`` frame n is drawn ahead and released at start + n / fps, which is its ``captured_ns``: a
    camera's exposure costs no processor time either. With ``Pace.FAST`` it is the moment after drawing.
    ``duration`` is in seconds of media time. ``staged`` pictures are drawn in pinned memory and copied to the
    device, which is the default where device memory is not host memory. ``truth`` says where the faces are,
    for tests and evaluation.
    """

    def __init__(
        self,
        uri: str,
        device: Device,
        *,
        pace: Pace = Pace.REALTIME,
        duration: float | None = None,
        size: Size | None = None,
        fps: Fraction | None = None,
        pictures: int = 16,
        staged: bool | None = None,
    ) -> None:
        self._uri = uri
        self._options = PerformerOptions.parse(uri, size=size, fps=fps)
        self._device = device
        self._pace = pace
        self._duration = duration
        self._pictures = pictures
        self._staged = staged
        self._name = "performer"
        self._clock: Clock = SystemClock()
        self._release = ReleaseClock(self._clock, pace)
        self._scene: PerformerScene | None = None
        self._writer: _Writer | None = None
        self._seq = 0

    @property
    def format(self) -> InputFormat:
        """What the source delivers."""
        options = self._options
        frames = self._frames()
        return InputFormat(
            uri=self._uri,
            size=options.size,
            fps=options.fps,
            color=options.color,
            time_base=1 / options.fps,
            frames=frames,
            duration=None if frames is None else float(frames / options.fps),
            note="synthetic performer",
        )

    @property
    def audio(self) -> None:
        """The performer is silent."""
        return None

    @property
    def damage(self) -> str:
        """Nothing is ever broken."""
        return ""

    def probe(self) -> InputFormat:
        """The format, for the graph to be built."""
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Draw into memory of another device from the next picture on."""
        self._device, self._pictures = device, pictures
        if self._scene is not None:
            self._writer = None  # its memory may be what the new one needs
            self._writer = _Writer(device, self._options.size, pictures, self._staged)

    def open(self, context: StageContext) -> None:
        """Get the performer ready. ``ModelError`` if the files she is made of are missing or damaged."""
        self._name, self._clock = context.name, context.clock
        self._release = ReleaseClock(context.clock, self._pace)
        self._scene = PerformerScene(self._options)
        self._writer = _Writer(self._device, self._options.size, self._pictures, self._staged)
        self._seq = 0

    def read(self) -> Frame | Event:
        """The next frame, waiting until it is due; ``Eos`` at the end or once interrupted, and ever after."""
        if self._scene is None or self._writer is None or self._seq == self._frames():
            return Eos()
        seq, options = self._seq, self._options
        buffer = self._writer.draw(self._scene, seq)
        media_ns = round(seq * NANOSECONDS / options.fps)
        if not self._release.wait_until(media_ns):
            self._seq = self._frames() or seq
            self.close()
            return Eos()
        self._seq += 1
        captured_ns = self._release.due_ns(media_ns)
        stamp = Timestamp(seq, 1 / options.fps)
        return Frame(seq, self._name, stamp, captured_ns, options.size, options.color, buffer)

    def interrupt(self) -> None:
        """Make a blocked ``read`` return with ``Eos``."""
        self._release.interrupt()

    def close(self) -> None:
        """Give back the memory."""
        self._scene = self._writer = None

    def truth(self, seq: int) -> tuple[FaceTruth, ...]:
        """The faces in the frame of that number, by person; the source is open."""
        assert self._scene is not None, "open comes first"
        return self._scene.truth(seq)

    def _frames(self) -> int | None:
        ends = [frames for frames in (self._options.frames,) if frames is not None]
        if self._duration is not None:
            ends.append(round(self._duration * self._options.fps))
        return min(ends, default=None)


class _Writer:
    """Puts drawn pictures into slots of the device, in stream order."""

    def __init__(self, device: Device, size: Size, pictures: int, staged: bool | None) -> None:
        self._device = device
        self._stream = device.stream("performer")
        self._pool = FramePool(device, size, limit=pictures)
        self._luma: Any = None
        if staged is None:
            staged = not device.shares_host_memory
        if staged:
            self._luma = device.pinned((size.height, size.width), "uint8")
            self._chroma = device.pinned((size.height // 2, size.width // 2, 2), "uint8")

    def draw(self, scene: PerformerScene, frame: int) -> DeviceBuffer:
        """Frame ``frame`` in a slot, ready after this stream's work."""
        buffer = self._pool.acquire(self._stream)
        luma, chroma = buffer.luma, buffer.chroma
        try:
            if self._luma is None:
                self._device.run(
                    lambda: scene.draw(frame, luma, chroma),
                    self._stream,
                    reads=(),
                    writes=(luma, chroma),
                    name="performer",
                )
            else:
                # The copies of the last picture must be over before this memory is drawn into again.
                self._stream.synchronize()
                scene.draw(frame, self._luma, self._chroma)
                self._device.copy(luma, self._luma, self._stream)
                self._device.copy(chroma, self._chroma, self._stream)
        finally:
            # The pool must hear of what is on the stream even if the rest of it could not be put there.
            buffer = buffer.after(self._stream.record())
        return buffer
