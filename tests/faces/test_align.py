"""Similarities, regions and detector tensors."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Box, Size
from livefusion.faces.align import ARCFACE_112, similarity_onto
from livefusion.faces.detector_format import suppress
from livefusion.faces.roi import Roi
from livefusion.faces.yunet import YuNetDecoder

pytestmark = pytest.mark.unit


@given(
    st.floats(0.05, 20), st.floats(-math.pi, math.pi), st.floats(-500, 500), st.floats(-500, 500)
)  # fmt: skip
def test_similarity_is_found_exactly(scale: float, angle: float, x: float, y: float) -> None:
    true = Affine.similarity(scale, angle, (0, 0), (x, y))
    found = similarity_onto(ARCFACE_112, true(ARCFACE_112))
    assert found.matrix == pytest.approx(true.matrix, abs=1e-6 * max(1, scale * 100))


def test_similarity_never_mirrors() -> None:
    mirrored = ARCFACE_112 * [-1, 1]
    assert np.linalg.det(similarity_onto(ARCFACE_112, mirrored).matrix[:, :2]) > 0


def test_similarity_of_one_point_is_refused() -> None:
    with pytest.raises(ValueError, match="two different points"):
        similarity_onto(np.ones((5, 2)), ARCFACE_112)


@given(st.floats(-math.pi, math.pi), st.floats(20, 600))
def test_roi_puts_the_face_upright_in_the_middle(angle: float, side: float) -> None:
    roi = Roi((311.0, 207.0), side, angle)
    to_crop = roi.to_crop(256)
    right = (311 + side / 2 * math.cos(angle), 207 + side / 2 * math.sin(angle))
    middle, edge = to_crop(np.array([[311.0, 207.0], right]))
    assert middle == pytest.approx([127.5, 127.5])
    assert edge == pytest.approx([127.5 + 128, 127.5])


def test_roi_of_landmarks_turns_with_them() -> None:
    points = np.random.default_rng(1).uniform(-50, 50, (478, 3)).astype(np.float32)
    points[33], points[263] = (-30, 0, 0), (30, 0, 0)
    base = Roi.of_landmarks(points)
    turn = Affine.similarity(1.5, 0.9, (0, 0), (400, 300))
    turned = points.copy()
    turned[:, :2] = turn(points[:, :2])
    roi = Roi.of_landmarks(turned)
    assert roi.angle == pytest.approx(base.angle + 0.9, abs=1e-5)
    assert roi.side == pytest.approx(base.side * 1.5, rel=1e-5)
    assert roi.centre == pytest.approx(tuple(turn(np.array([base.centre]))[0]), abs=1e-3)


def test_decoder_finds_the_cell_that_fires() -> None:
    size = Size(320, 192)
    outputs = {n: np.zeros(s, np.float32) for n, s in YuNetDecoder.output_shapes(size).items()}
    cell = 3 * (320 // 16) + 7
    outputs["cls_16"][0, cell] = outputs["obj_16"][0, cell] = 0.9
    outputs["bbox_16"][0, cell] = [0.5, 0.25, np.log(2), np.log(3)]
    outputs["kps_16"][0, cell] = np.arange(10) / 10
    to_frame = Affine([[4, 0, 10], [0, 4, 20]])
    (face,) = YuNetDecoder(size)(outputs, to_frame, 0.6)
    assert face.score == pytest.approx(0.9)
    assert face.box.centre == pytest.approx((7.5 * 16 * 4 + 10, 3.25 * 16 * 4 + 20))
    assert (face.box.width, face.box.height) == pytest.approx((128, 192))
    assert face.keypoints is not None
    assert face.keypoints[1] == pytest.approx([7.2 * 64 + 10, 3.3 * 64 + 20])
    assert YuNetDecoder(size)(outputs, to_frame, 0.95) == []


def test_suppression_keeps_the_best_of_each_heap() -> None:
    corners = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [50, 0, 60, 10], [0, 1, 10, 11]], float)
    assert suppress(corners, np.array([0.7, 0.9, 0.6, 0.8]), 0.3) == [1, 2]


def test_roi_of_detection_takes_roll_from_the_eyes() -> None:
    keypoints = np.array([[0, 0], [10, 10], [0, 0], [0, 0], [0, 0]], np.float32)
    roi = Roi.of_detection(FaceObservation(Box(10, 20, 40, 60), 0.9, keypoints))
    assert (roi.centre, roi.side, roi.angle) == ((30, 50), 90, pytest.approx(math.pi / 4))
    assert Roi.of_detection(FaceObservation(Box(10, 20, 40, 60), 0.9)).angle == 0
