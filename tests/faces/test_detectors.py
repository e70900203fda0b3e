"""Detectors that a user brings find a marker where it is, whatever their tensors are called."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from apart import ApartDevice

from livefusion.core.color import ColorInfo
from livefusion.core.errors import ModelError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import FaceSettings, Settings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.faces.detect import LiveDetector
from livefusion.faces.detectors import check_detector, detector_format
from livefusion.inference.catalog import inspect
from livefusion.inference.registry import ModelRegistry
from livefusion.ops.fit import letterbox_affine
from livefusion.ops.reference.convert import rgb_to_nv12
from livefusion.pipeline.assemble import Pipeline
from livefusion.testing.face_standins import POINTS, STRIDES, scrfd_standin, yolo_face_standin
from livefusion.testing.onnx_files import graph_file, picture

pytestmark = pytest.mark.unit

SIZE = Size(1280, 720)
RED, GREEN, BLUE = 230, 20, 128
SCORE = (RED - GREEN) / 255


def marked(device: Device, cell: tuple[int, int], stride: int, network: Size) -> Frame:
    """A frame in which one cell of a detector's map, at a stride, is red, and a pixel of its round it."""
    back = letterbox_affine(SIZE, network).inverse()
    column, row = cell
    corners = np.array([[column, row], [column + 1, row + 1]]) * stride + [[-1.5], [0.5]]
    (left, top), (right, bottom) = np.rint(back(corners) + 0.5).astype(int)
    rgb = np.full((SIZE.height, SIZE.width, 3), 128, np.uint8)
    rgb[top:bottom, left:right] = RED, GREEN, BLUE
    luma, chroma = np.empty(rgb.shape[:2], np.uint8), np.empty((360, 640, 2), np.uint8)
    rgb_to_nv12(rgb, luma, chroma, ColorInfo())
    stream, pool = device.stream("decode"), FramePool(device, SIZE, limit=1)
    planes = pool.acquire(stream)
    device.copy(planes.luma, luma, stream)
    device.copy(planes.chroma, chroma, stream)
    return Frame(0, "marker", Timestamp(0, Fraction(1)), 0, SIZE, ColorInfo(), planes.after(stream.record()))


NETWORKS: list[tuple[str, Callable[[Path], Path], int, Size, float]] = [
    *((f"scrfd at stride {s}, anchor {a}", lambda p, s=s, a=a: scrfd_standin(p, stride=s, anchor=a), s,
       Size(320, 192), 0.0) for s in STRIDES for a in (0, 1)),
    ("scrfd at 640", lambda p: scrfd_standin(p, side=640), 16, Size(640, 640), 0.0),
    ("scrfd with a batch axis", lambda p: scrfd_standin(p, batch_axis=True), 16, Size(320, 192), 0.0),
    *((f"yolo-face at stride {s}", lambda p, s=s: yolo_face_standin(p, stride=s), s, Size(640, 640), 0.5)
      for s in STRIDES),
]  # fmt: skip


@pytest.mark.parametrize(
    ("write", "stride", "network", "middle"), [row[1:] for row in NETWORKS], ids=[row[0] for row in NETWORKS]
)
def test_a_marker_is_found_where_it_is_with_its_score_size_and_points(
    tmp_path: Path, write: Callable[[Path], Path], stride: int, network: Size, middle: float
) -> None:
    """``middle`` is where in a cell the network counts from, in strides."""
    device, path = CpuDevice(), write(tmp_path / "renamed.onnx")
    session, form = Networks(device).detector(str(path))
    assert form.landscape == network
    detector = LiveDetector(device, session, form=form)
    cell = (4, 2)
    back = letterbox_affine(SIZE, network).inverse()
    at = (np.array(cell) + middle) * stride
    reach = np.array((4, 2, 4, 4) if middle == 0 else (2, 2, 2, 2)) * BLUE / 255 * stride
    corners = back(np.array([at - reach[:2], at + reach[2:]]))
    frame = marked(device, cell, stride, network)
    # A box that is known already is not looked for in the picture turned.
    job = detector.shrink(frame, detector.slots[0], (Box.around(corners),), 0.6)
    (face,) = detector.find(job)
    pixel = SIZE.width / network.width
    assert face.score == pytest.approx(SCORE, abs=0.02)
    np.testing.assert_allclose(
        [face.box.x, face.box.y, face.box.right, face.box.bottom],
        corners.reshape(-1),
        atol=0.2 * stride * pixel,
    )
    assert face.keypoints is not None
    np.testing.assert_allclose(face.keypoints, back(at + POINTS * stride), atol=0.51 * pixel)
    thumbnail = detector.thumbnail(job, SIZE)
    assert np.median(thumbnail) == pytest.approx(128, abs=2)


@pytest.mark.parametrize("seed", range(3))
def test_a_device_with_memory_of_its_own_sees_the_same(tmp_path: Path, seed: int) -> None:
    """In whatever order its streams run."""
    device, here = ApartDevice(seed, host_orders=False), CpuDevice()
    path = scrfd_standin(tmp_path / "x.onnx")
    found = []
    for one in (here, device):
        session, form = Networks(here).detector(str(path))
        detector = LiveDetector(one, session, form=form)
        job = detector.shrink(marked(one, (4, 2), 16, form.landscape), detector.slots[0], (), 0.6)
        found.append((detector.find(job), np.array(detector.thumbnail(job, SIZE))))
    (seen, grey), (seen_apart, grey_apart) = found
    assert [face.box for face in seen] == [face.box for face in seen_apart]
    np.testing.assert_allclose(grey, grey_apart, atol=1e-3)
    device.assert_no_races()


def test_what_cannot_be_used_is_said_before_anything_starts(tmp_path: Path) -> None:
    check_detector("")
    check_detector(str(yolo_face_standin(tmp_path / "x.onnx")))
    pipeline = Pipeline(
        Settings(input="performer:", output=("null:",), faces=FaceSettings(detector="none.onnx"))
    )
    with pytest.raises(ModelError, match="cannot be read"):
        pipeline.start()


@pytest.mark.parametrize(
    ("inputs", "outputs", "reason"),
    [
        ({"x": picture(512)}, {"y": picture(512)}, "is no face detector"),
        ({"x": [1, 3, 480, 640]}, {"y": [1, 20, 6300]}, "takes pictures of 640x480"),
        ({"x": picture(600)}, {"y": [1, 20, 7000]}, "takes pictures of 600x600"),
    ],
    ids=["an enhancer", "not square", "not a multiple of 32"],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, inputs: dict, outputs: dict, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        detector_format(inspect(graph_file(tmp_path / "x.onnx", inputs, outputs)))


def test_the_built_in_network_as_a_file_of_ones_own_is_read_as_before() -> None:
    """YuNet's two maps of one channel for each stride are told apart by their order."""
    path = ModelRegistry.load()["yunet"].path
    form, names = detector_format(inspect(path))
    assert {ours: theirs for ours, theirs in names.items() if ours != theirs} == {}
    assert form.sizes == (Size(320, 192), Size(192, 320))
