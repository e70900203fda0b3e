"""A reel as a file would be: so many pictures, none of them late."""

from collections.abc import Sequence
from fractions import Fraction

from livefusion.core.events import Eos
from livefusion.core.frame import Frame
from livefusion.core.timing import Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.formats import InputFormat
from livefusion.runtime.stage import StageContext
from livefusion.testing.reel import Reel, Shot


class ReelSource:
    """So many pictures of a reel, as fast as they are taken; a camera that a ``JudgeSink`` can ask."""

    audio = None
    trouble = ""

    def __init__(self, device: Device, reel: Reel, frames: int) -> None:
        self._device = device
        self._reel = reel
        self._frames = frames
        self._seq = 0
        self._taken: dict[int, Shot] = {}
        self._pool: FramePool | None = None
        self._clock: Clock = SystemClock()
        self._stopped = False

    @property
    def format(self) -> InputFormat:
        """That of the reel."""
        return InputFormat("reel:", self._reel.size, Fraction(30), self._reel.color, Fraction(1, 30))

    def probe(self) -> InputFormat:
        """The format."""
        return self.format

    def open(self, context: StageContext) -> None:
        """Take the graph's clock."""
        self._clock = context.clock
        self._get_memory()

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device from the next one on."""
        self._device, self._pool = device, None
        self._get_memory()

    def read(self) -> Frame | Eos:
        """The next picture; ``Eos`` after the last one."""
        if self._stopped or self._seq == self._frames:
            return Eos()
        assert self._pool is not None
        shot = self._reel.at(self._seq)
        buffer = self._pool.acquire(self._stream)
        self._device.copy(buffer.luma, shot.luma, self._stream)
        self._device.copy(buffer.chroma, shot.chroma, self._stream)
        buffer = buffer.after(self._stream.record())
        seq, self._seq = self._seq, self._seq + 1
        captured_ns = max([self._clock.now_ns(), *(at_ns + 1 for at_ns in self._taken)])
        self._taken[captured_ns] = shot
        ts = Timestamp(seq, Fraction(1, 30))
        return Frame(seq, "reel", ts, captured_ns, self._reel.size, self._reel.color, buffer)

    def interrupt(self) -> None:
        """End."""
        self._stopped = True

    def close(self) -> None:
        """Nothing to give back."""

    def shots(self, captured_ns: int) -> Sequence[Shot]:
        """What a picture captured at that time may show, newest first."""
        return [shot for at_ns, shot in self._taken.items() if at_ns <= captured_ns][::-1]

    def took(self, captured_ns: int) -> bool:
        """Whether a picture was captured at exactly that time."""
        return captured_ns in self._taken

    def _get_memory(self) -> None:
        if self._pool is None:
            self._stream = self._device.stream("reel")
            self._pool = FramePool(self._device, self._reel.size, limit=16)
