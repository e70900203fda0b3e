"""The analyse stage with the built-in networks."""

from livefusion.core.settings import FaceSettings
from livefusion.core.timing import Clock
from livefusion.devices.device import Device, Stream
from livefusion.faces.analyse import AnalyseStage, Eyes
from livefusion.faces.detect import LiveDetector
from livefusion.faces.detector_worker import DetectorWorker
from livefusion.faces.embed import LiveRecogniser
from livefusion.faces.landmarks import Landmarker
from livefusion.faces.pose import PoseEstimator
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session


def build_analyse_stage(
    device: Device, settings: FaceSettings, registry: ModelRegistry | None = None
) -> AnalyseStage:
    """A stage that loads YuNet, the 478-point mesh and SFace when it opens.

    ``ModelError`` if the canonical mesh is missing or damaged; the networks' errors come from ``open``.
    """
    models = registry or ModelRegistry.load()
    where = device.name if device.name.startswith("cuda") else "cpu"

    def make_eyes(stream: Stream, clock: Clock) -> Eyes:
        landmarker = Landmarker(device, Session(models["face_landmarks"], where), stream)
        landmarker.reserve(1)
        search = DetectorWorker(
            LiveDetector(device, Session(models["yunet"], where)),
            LiveRecogniser(device, Session(models["sface"], where)),
            clock,
        )
        return Eyes(search, landmarker)

    return AnalyseStage(device, make_eyes, PoseEstimator.from_registry(models), settings)
