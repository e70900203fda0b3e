"""The analyse stage with the built-in networks."""

import logging
from contextlib import ExitStack
from fractions import Fraction

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import Clock, Timestamp
from livefusion.devices.device import Device, Stream
from livefusion.devices.pool import FramePool
from livefusion.devices.select import Fallback
from livefusion.faces.analyse import DETECT_GUARD_NS, AnalyseStage
from livefusion.faces.detect import LiveDetector
from livefusion.faces.detector_format import DetectorFormat
from livefusion.faces.detector_worker import DetectorWorker
from livefusion.faces.detectors import detector_entry, detector_format, open_detector
from livefusion.faces.embed import LiveRecogniser
from livefusion.faces.eyes import Eyes
from livefusion.faces.landmarks import Landmarker
from livefusion.faces.live_points import LivePoints
from livefusion.faces.pose import PoseEstimator
from livefusion.faces.roi import Roi
from livefusion.faces.yunet import YUNET
from livefusion.inference.catalog import ModelFile, find_model
from livefusion.inference.network import Loaded
from livefusion.inference.registry import ModelEntry, ModelRegistry
from livefusion.inference.session import Session
from livefusion.ops.preprocess import open_preprocessor

_log = logging.getLogger(__name__)

_ON_THE_PATH = "face_landmarks"
_MOST_OF_A_PICTURE = 1 / 4
"""So much of a live picture's time may a landmark network take: the rest is needed for the swap."""


class Networks:
    """YuNet, the 478-point mesh and SFace for one stage, each loaded when first asked for and then kept.

    A stage that opens again after a failure is back after 50 ms with them and not after 300. Sessions are for
    one thread: two stages never share them, but what they loaded. ``where`` they run is the device, unless
    that is none that ONNX Runtime knows; ``graphs`` has what the stage itself runs captured as CUDA graphs.
    """

    def __init__(
        self,
        device: Device,
        models: ModelRegistry | None = None,
        *,
        where: str | None = None,
        graphs: bool = False,
    ) -> None:
        self.models = models or ModelRegistry.load()
        self._device = device
        self._where = where or (device.name if device.name.startswith("cuda") else "cpu")
        self._graphs = graphs
        self._sessions: dict[tuple[str, str], Session] = {}
        self.fallbacks: tuple[Fallback, ...] = ()
        """What is not used, though it was wanted."""

    def __getitem__(self, name: str) -> Session:
        return self._loaded(self.models[name])

    def detector(self, chosen: str) -> tuple[Loaded, DetectorFormat]:
        """The detector that a setting names, and how it is used; YuNet for the empty text.

        ``ModelError`` if there is no such model or it is no detector.
        """
        if not chosen:
            return self["yunet"], YUNET
        model = find_model(chosen)
        form, names = detector_format(model)
        return open_detector(self._loaded(detector_entry(model)), names), form

    def points(self, chosen: str) -> tuple[ModelFile, Session]:
        """The landmark network that a setting names. ``ModelError`` if there is no such model."""
        model = find_model(chosen)
        return model, self._loaded(model.entry)

    def _loaded(self, entry: ModelEntry) -> Session:
        key = entry.name, entry.sha256  # a user's file may be called as one of ours
        if key not in self._sessions:
            self._sessions[key] = Session(
                entry,
                self._where,
                device=self._device,
                # ONNX Runtime keeps graphs by thread: the detector's would be captured while frames wait.
                graphs=self._graphs and entry.name == _ON_THE_PATH,
            )
        return self._sessions[key]

    @property
    def loaded(self) -> tuple[Session, ...]:
        """The networks in use, for the report."""
        return tuple(self._sessions.values())


def build_analyse_stage(
    device: Device,
    settings: FaceSettings,
    networks: Networks | None = None,
    *,
    detect_guard_ns: int = DETECT_GUARD_NS,
    known: tuple[FaceTrack, ...] = (),
    interval_s: float | None = None,
) -> AnalyseStage:
    """A stage that loads its networks when it first opens; ``known`` are faces that another one followed.

    ``interval_s`` is the time of a live picture: a landmark network that takes much of it is not used.
    ``ModelError`` if the canonical mesh is missing or damaged; the networks' errors come from ``open``.
    """
    at_hand = networks or Networks(device)

    def make_eyes(stream: Stream, clock: Clock) -> Eyes:
        landmarker = Landmarker(device, at_hand[_ON_THE_PATH], stream, settings.max_faces)
        session, form = at_hand.detector(settings.detector)
        preprocessor = open_preprocessor(
            device, settings.preprocess, form.sizes, normalisation=form.normalisation
        )
        detector = LiveDetector(device, session, preprocessor, form=form)
        recogniser = LiveRecogniser(device, at_hand["sface"])
        points = _aligner(device, at_hand, settings, stream, clock, interval_s=interval_s)
        worker = _warm_worker(_grey(device, stream), detector, landmarker, recogniser, clock)
        return Eyes(worker, landmarker, points)

    pose = PoseEstimator.from_registry(at_hand.models)
    return AnalyseStage(device, make_eyes, pose, settings, detect_guard_ns=detect_guard_ns, known=known)


def _aligner(
    device: Device,
    networks: Networks,
    settings: FaceSettings,
    stream: Stream,
    clock: Clock,
    *,
    interval_s: float | None,
) -> LivePoints | None:
    """What aligns crops by a network of the user's; None without one, and with one that takes too long."""
    if not settings.landmarks:
        return None
    model, session = networks.points(settings.landmarks)
    faces, smoothing = settings.max_faces, settings.smoothing
    points = LivePoints(device, model, session, stream, faces=faces, smoothing=smoothing)
    took, most = points.try_out(clock), None if interval_s is None else interval_s * _MOST_OF_A_PICTURE
    if most is None or took <= most:
        return points
    reason = f"it takes {1000 * took:.0f} ms for a face, and may take {1000 * most:.0f}"
    _log.warning("%s is not used: %s; crops are aligned by the built-in mesh", model.name, reason)
    networks.fallbacks = (Fallback(model.name, "face_landmarks", reason),)
    return None


def _warm_worker(
    frame: Frame, detector: LiveDetector, landmarker: Landmarker, recogniser: LiveRecogniser, clock: Clock
) -> DetectorWorker:
    """Run everything once, where it will run: operators and networks take a second to load on first use."""
    job = detector.shrink(frame, detector.slots[0], (), 0.5)
    # Not the mesh of a grey square, which may be a single point and then cannot be aligned.
    recogniser.crop(frame, np.arange(478 * 3, dtype=np.float32).reshape(478, 3) % 61)

    def look() -> None:
        detector.find(job)
        recogniser.embed()

    with ExitStack() as on_failure:
        worker = DetectorWorker(detector, recogniser, clock, look)
        on_failure.callback(worker.close)
        landmarker.find(frame, [Roi((32.0, 32.0), 64.0, 0.0)])
        worker.wait_ready()
        on_failure.pop_all()
    return worker


def _grey(device: Device, stream: Stream) -> Frame:
    size = Size(64, 64)
    picture = FramePool(device, size, limit=1).acquire(stream)
    device.copy(picture.luma, np.full(picture.luma.shape, 128, np.uint8), stream)
    device.copy(picture.chroma, np.full(picture.chroma.shape, 128, np.uint8), stream)
    buffer = picture.after(stream.record())
    return Frame(0, "warm-up", Timestamp(0, Fraction(1)), 0, size, ColorInfo(), buffer)
