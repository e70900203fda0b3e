"""What the tests of the pipeline share: frames, identities, an engine that paints."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Region, Size
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.testing.injections import Reels

SIZE = Size(320, 240)


class PaintingEngine:
    """Paints the face box of a track in one flat colour; raises for tracks that it was told to fail on."""

    name = "paint"

    def __init__(self, fails_on: frozenset[int] = frozenset()) -> None:
        self.fails_on = fails_on
        self.prepared: list[str] = []

    def prepare(self, identity: Identity) -> None:
        self.prepared.append(identity.id)

    def warm_up(self) -> None:
        pass

    def look(self, frame: Frame, tracks: Any) -> None:
        pass

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Any
    ) -> Patch | None:
        if track.id in self.fails_on:
            raise RuntimeError("the engine broke")
        region = Region.covering(track.box, frame.size)
        pixels = np.empty((region.height, region.width, 4), np.uint8)
        pixels[:] = (90, 110, 150, 255)
        return None if region.empty else Patch(region, pixels)


class FrameMaker:
    """Makes frames with a textured picture, each from the same pool."""

    def __init__(self) -> None:
        self.device = CpuDevice()
        self._pool = FramePool(self.device, SIZE, limit=32)
        self._stream = self.device.stream("test")
        self._seq = 0
        self.picture = np.random.default_rng(5).integers(
            16, 235, (SIZE.height * 3 // 2, SIZE.width), np.uint8
        )

    def __call__(self) -> Frame:
        buffer = self._pool.acquire(self._stream)
        buffer.nv12[:] = self.picture
        seq, self._seq = self._seq, self._seq + 1
        ts = Timestamp(seq, Fraction(1, 30))
        return Frame(seq, "test", ts, seq, SIZE, ColorInfo(), buffer.after(self._stream.record()))

    @property
    def luma(self) -> np.ndarray:
        """The luma of every frame before anybody changed it."""
        return self.picture[: SIZE.height]


@pytest.fixture
def make_frame() -> FrameMaker:
    """A maker of frames."""
    return FrameMaker()


@pytest.fixture
def identity() -> Identity:
    """A face of noise that belongs to nobody."""
    texture = np.random.default_rng(1).integers(0, 255, (1024, 1024, 4), np.uint8)
    return Identity("noise", "Noise", texture, np.zeros((468, 3), np.float32))


def track(
    number: int, box: Box, state: TrackState = TrackState.SEEN, landmarks: np.ndarray | None = None
) -> FaceTrack:
    """A track whose landmarks nobody needs."""
    return FaceTrack(number, state, box, landmarks)


@pytest.fixture(scope="session")
def reels() -> Reels:
    """Scenes for cameras that cost nothing; drawing them takes seconds."""
    return Reels.draw(3)
