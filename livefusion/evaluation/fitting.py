"""One face after the other put on the same picture, by the product's own engine, occlusion and blend."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from livefusion.core.events import Discontinuity
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, Landmarks, TrackState
from livefusion.core.frame import Frame, RenderedFrame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import Settings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.evaluation.picture import Picture
from livefusion.faces.build import Networks
from livefusion.media.host import HostPictures
from livefusion.pipeline.engines import EngineChoice
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import make_occlusion
from livefusion.runtime.stage import StageContext
from livefusion.swap.painted import swap_settings

_GROWN_UP = 99
"""Age of the tracks in frames: nothing of a face that was just found fades in."""


class FittingRoom:
    """Puts identities on pictures as a run with these settings would, each as on a first picture.

    On the CPU, without badge and watermark: they are no part of a face. ``SettingsError`` and ``ModelError``
    say what is wrong with the engine that the settings name.
    """

    def __init__(self, settings: Settings, first: Identity) -> None:
        choice = EngineChoice(settings.engine, settings.family)
        choice.check()
        self._settings = settings
        self._device = device = CpuDevice()
        self._stream = device.stream("fitting")
        self._host = HostPictures(device)
        self._engine = choice.make(device)
        self._plan = self._plan_for(first)
        self._pool: FramePool | None = None
        self._pool_size: Size | None = None
        self._fits = self._tracks = 0
        self._stage = RenderStage(
            device,
            self._engine,
            lambda: self._plan,
            SlateShelf(device),
            occlusion=make_occlusion(device, Networks(device), settings.faces.max_faces),
        )
        self._stage.open(StageContext("render", SystemClock()))

    def wear(self, picture: Picture, faces: Sequence[Landmarks], identity: Identity) -> Picture:
        """The picture with the identity on each of the faces, given by their (478, 3) landmarks."""
        self._engine.prepare(identity)
        self._plan = self._plan_for(identity)
        self._stage.handle(Discontinuity("another face is tried on"))
        item = AnalysedFrame(self._frame(picture), tuple(self._track(face) for face in faces))
        rendered = self._stage.process(item)
        assert isinstance(rendered, RenderedFrame), "the render stage drops nothing"
        luma, chroma = (plane.copy() for plane in self._host.planes(rendered.frame))
        return Picture(luma, chroma, picture.color)

    def close(self) -> None:
        """Close the stage."""
        self._stage.close()

    def _plan_for(self, identity: Identity) -> RenderPlan:
        swap = swap_settings(identity, self._settings.swap)
        return RenderPlan(identity, swap, self._settings.safety.model_copy(update={"badge": False}))

    def _frame(self, picture: Picture) -> Frame:
        if self._pool is None or self._pool_size != picture.size:
            self._pool, self._pool_size = FramePool(self._device, picture.size), picture.size
        buffer = self._pool.acquire(self._stream)
        np.copyto(buffer.luma, picture.luma)
        np.copyto(buffer.chroma, picture.chroma)
        seq, self._fits = self._fits, self._fits + 1
        stamp = Timestamp(seq, Fraction(1, 30))
        return Frame(seq, "fitting", stamp, 0, picture.size, picture.color, buffer)

    def _track(self, face: Landmarks) -> FaceTrack:
        """A track that nothing is remembered of: what is smoothed over time starts anew."""
        self._tracks += 1
        box = Box.around(face)
        return FaceTrack(self._tracks, TrackState.SEEN, box, face, age=_GROWN_UP, quality=1.0)
