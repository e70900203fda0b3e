"""Whether the detector sees the same face through DALI as through our operators."""

from fractions import Fraction

import numpy as np
import pytest
from preprocess_cases import photo

from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceObservation
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import Preprocess
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.faces.detect import LiveDetector
from livefusion.faces.yunet import LANDSCAPE, PORTRAIT
from livefusion.ops.preprocess import open_preprocessor

pytestmark = pytest.mark.gpu_wheels


def found(choice: Preprocess, size: Size) -> list[FaceObservation]:
    device = CpuDevice()
    stream = device.stream("decode")
    picture, buffer = photo(size.width, size.height, ColorInfo()), FramePool(device, size, limit=1)
    planes = buffer.acquire(stream)
    device.copy(planes.luma, picture.luma, stream)
    device.copy(planes.chroma, picture.chroma, stream)
    frame = Frame(0, "photo", Timestamp(0, Fraction(1)), 0, size, ColorInfo(), planes.after(stream.record()))
    preprocessor = open_preprocessor(device, choice, (LANDSCAPE, PORTRAIT))
    detector = LiveDetector(device, Networks(device)["yunet"], preprocessor)
    return detector.find(detector.shrink(frame, detector.slots[0], (), 0.5))


@pytest.mark.parametrize(
    ("size", "overlap"),
    [
        (Size(512, 512), 0.95),
        (Size(640, 480), 0.95),
        (Size(480, 854), 0.95),
        # Ours is made of every second row; a shift by one row alone moves this box as far.
        (Size(1280, 720), 0.8),
    ],
    ids=str,
)
def test_the_same_face_is_found_in_the_same_place(size: Size, overlap: float) -> None:
    pytest.importorskip("nvidia.dali")
    (ours,), (theirs,) = found(Preprocess.CUPY, size), found(Preprocess.DALI, size)
    assert ours.box.iou(theirs.box) > overlap
    assert theirs.score == pytest.approx(ours.score, abs=0.05)
    assert np.abs(theirs.keypoints - ours.keypoints).max() < 0.01 * size.width
