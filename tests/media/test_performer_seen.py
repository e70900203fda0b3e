"""The networks see the performer as a face, where the truth says, and as the person of the photo."""

import numpy as np
import pytest

from livefusion.core.frame import Frame
from livefusion.core.settings import Pace
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.faces.embed import SAME_PERSON, cosine, embed_photo, unit
from livefusion.faces.landmarks import Landmarker
from livefusion.faces.roi import Roi
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.media.sources.performer import PerformerSource
from livefusion.media.sources.performer_photo import load_performer_photos
from livefusion.ops.registry import NV12_TO_RGB
from livefusion.runtime.stage import StageContext

pytestmark = pytest.mark.media

FRAMES = 60
SHARE_OF_EYE_DISTANCE = 0.015


@pytest.fixture(scope="module")
def models() -> ModelRegistry:
    return ModelRegistry.load()


@pytest.mark.parametrize("face", [170, 450])
def test_landmarks_are_found_where_the_truth_says(models: ModelRegistry, face: int) -> None:
    device = CpuDevice()
    landmarker = Landmarker(device, Session(models["face_landmarks"]), device.stream("test"))
    source = PerformerSource(f"performer:?face={face}", device, pace=Pace.FAST)
    source.open(StageContext("performer", SystemClock()))
    errors, last = [], source.truth(0)[0].landmarks
    for _ in range(FRAMES):
        frame = source.read()
        assert isinstance(frame, Frame)
        found = landmarker.find(frame, [Roi.of_landmarks(last)])[0]
        assert found.presence > 0.9
        last, truth = found.landmarks, source.truth(frame.seq)[0]
        distances = np.linalg.norm(found.landmarks[:468, :2] - truth.landmarks[:468, :2], axis=1)
        errors.append(distances.mean() / truth.eye_distance)
    assert np.mean(errors) < SHARE_OF_EYE_DISTANCE
    assert np.max(errors) < 2 * SHARE_OF_EYE_DISTANCE


def test_the_performer_is_the_person_of_the_photo_and_her_companion_is_not(models: ModelRegistry) -> None:
    sface = Session(models["sface"])
    photo = load_performer_photos()[0]
    wanted = unit(embed_photo(sface, photo.rgb, photo.landmarks))
    source = PerformerSource("performer:?face=200&fps=1&faces=2", CpuDevice(), pace=Pace.FAST)
    source.open(StageContext("performer", SystemClock()))
    cosines = []
    for _ in range(6):
        frame = source.read()
        assert isinstance(frame, Frame)
        rgb = np.empty((frame.size.height, frame.size.width, 3), np.uint8)
        NV12_TO_RGB.body("cpu")(
            luma=frame.buffer.luma, chroma=frame.buffer.chroma, rgb=rgb, color=frame.color
        )
        faces = source.truth(frame.seq)
        cosines.append([cosine(embed_photo(sface, rgb, face.landmarks), wanted) for face in faces])
    assert min(cosines)[0] > 0.6
    assert np.mean(cosines, axis=0)[1] < SAME_PERSON
