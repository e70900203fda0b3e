"""One picture again and again, with another sensor noise each time: whatever moves in it then, trembles."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.events import Eos
from livefusion.core.frame import Frame
from livefusion.core.timing import Clock, SystemClock, Timestamp
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.evaluation.picture import Picture, Plane
from livefusion.media.formats import InputFormat
from livefusion.runtime.stage import StageContext

FPS = Fraction(30)
NOISE = 2.0
"""Standard deviation in code values: a webcam's by day."""


class NoisyStill:
    """A source (``pipeline.ends.PictureSource``) that shows a picture ``frames`` times with fresh noise."""

    def __init__(self, picture: Picture, frames: int, device: Device, *, noise: float = NOISE) -> None:
        self._picture = picture
        self._frames = frames
        self._noise = noise
        self._clock: Clock = SystemClock()
        self._seq = 0
        self._use(device, 16)

    @property
    def format(self) -> InputFormat:
        """The picture's."""
        picture = self._picture
        return InputFormat("still:", picture.size, FPS, picture.color, 1 / FPS, frames=self._frames)

    @property
    def audio(self) -> None:
        """It is silent."""
        return None

    def probe(self) -> InputFormat:
        """The format."""
        return self.format

    def move(self, device: Device, pictures: int) -> None:
        """Put pictures into memory of another device."""
        self._use(device, pictures)

    def open(self, context: StageContext) -> None:
        """Start again."""
        self._clock, self._seq = context.clock, 0

    def read(self) -> Any:
        """The next picture; ``Eos`` after the last one."""
        if self._seq >= self._frames:
            return Eos()
        seq, picture = self._seq, self._picture
        self._seq += 1
        random = np.random.default_rng(seq)
        buffer = self._pool.acquire(self._stream)
        self._device.copy(buffer.luma, noisy(picture.luma, self._noise, random), self._stream)
        self._device.copy(buffer.chroma, noisy(picture.chroma, self._noise / 2, random), self._stream)
        buffer = buffer.after(self._stream.record())
        stamp = Timestamp(seq, 1 / FPS)
        return Frame(seq, "still", stamp, self._clock.now_ns(), picture.size, picture.color, buffer)

    def interrupt(self) -> None:
        """End."""
        self._seq = self._frames

    def close(self) -> None:
        """Nothing to give back."""

    def _use(self, device: Device, pictures: int) -> None:
        self._device, self._stream = device, device.stream("still")
        self._pool = FramePool(device, self._picture.size, limit=pictures)


def noisy(plane: Plane, noise: float, random: np.random.Generator) -> Plane:
    """A plane with Gaussian noise."""
    added: npt.NDArray[Any] = plane + random.normal(0, noise, plane.shape).astype(np.float32)
    return np.asarray(np.clip(np.rint(added), 0, 255), np.uint8)
