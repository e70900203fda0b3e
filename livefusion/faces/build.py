"""The analyse stage with the built-in networks."""

from fractions import Fraction
from functools import cache

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import Clock, Timestamp
from livefusion.devices.device import Device, Stream
from livefusion.devices.pool import FramePool
from livefusion.faces.analyse import AnalyseStage, Eyes
from livefusion.faces.detect import LiveDetector
from livefusion.faces.detector_worker import DetectorWorker
from livefusion.faces.embed import LiveRecogniser
from livefusion.faces.landmarks import Landmarker
from livefusion.faces.pose import PoseEstimator
from livefusion.faces.roi import Roi
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session


def build_analyse_stage(
    device: Device, settings: FaceSettings, registry: ModelRegistry | None = None
) -> AnalyseStage:
    """A stage that loads YuNet, the 478-point mesh and SFace when it first opens.

    It keeps them: opened again after a failure it is back after 50 ms and not after 300.
    ``ModelError`` if the canonical mesh is missing or damaged; the networks' errors come from ``open``.
    """
    models = registry or ModelRegistry.load()
    where = device.name if device.name.startswith("cuda") else "cpu"

    @cache
    def session(name: str) -> Session:
        return Session(models[name], where)

    def make_eyes(stream: Stream, clock: Clock) -> Eyes:
        landmarker = Landmarker(device, session("face_landmarks"), stream)
        detector = LiveDetector(device, session("yunet"))
        recogniser = LiveRecogniser(device, session("sface"))
        _warm_up(device, stream, detector, landmarker, recogniser)
        return Eyes(DetectorWorker(detector, recogniser, clock), landmarker)

    return AnalyseStage(device, make_eyes, PoseEstimator.from_registry(models), settings)


def _warm_up(
    device: Device,
    stream: Stream,
    detector: LiveDetector,
    landmarker: Landmarker,
    recogniser: LiveRecogniser,
) -> None:
    """Run everything once on a small picture: operators and networks take a second to load on first use."""
    size = Size(64, 64)
    picture = FramePool(device, size, limit=1).acquire(stream)
    device.copy(picture.luma, np.full(picture.luma.shape, 128, np.uint8), stream)
    device.copy(picture.chroma, np.full(picture.chroma.shape, 128, np.uint8), stream)
    buffer = picture.after(stream.record())
    frame = Frame(0, "warm-up", Timestamp(0, Fraction(1)), 0, size, ColorInfo(), buffer)
    detector.find(detector.shrink(frame, detector.slots[0], (), 0.5))
    landmarker.find(frame, [Roi((32.0, 32.0), 64.0, 0.0)])
    # Not the mesh of a grey square, which may be a single point and then cannot be aligned.
    recogniser.crop(frame, np.arange(478 * 3, dtype=np.float32).reshape(478, 3) % 61)
    recogniser.embed()
