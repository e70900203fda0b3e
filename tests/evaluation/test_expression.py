"""Landmark errors, gaze and blinks of faces that were moved by known amounts."""

import numpy as np
import pytest
from synthetic import face, flat, view

from livefusion.core.face import Landmarks
from livefusion.evaluation.expression import ExpressionMeasure, gaze_of, landmark_error, openness
from livefusion.evaluation.sight import eye_distance
from livefusion.swap.mesh.canonical import INNER_LIPS, OUTER_LIPS

pytestmark = pytest.mark.unit

LIDS = ((160, 144), (159, 145), (158, 153), (387, 373), (386, 374), (385, 380))


def _measured(*pairs: tuple[Landmarks, Landmarks]) -> ExpressionMeasure:
    measure, picture = ExpressionMeasure(), flat()
    for seq, (was, now) in enumerate(pairs):
        measure.add(view(picture, picture, was=was, now=now, seq=seq))
    return measure


def _closed(landmarks: Landmarks) -> Landmarks:
    shut = landmarks.copy()
    for upper, lower in LIDS:
        shut[[upper, lower]] = (shut[upper] + shut[lower]) / 2
    return shut


def test_a_face_that_is_kept_has_no_error() -> None:
    figures = _measured((face(), face())).figures()
    for name in ("error", "eyes", "mouth", "gaze"):
        assert figures[name].mean == pytest.approx(0, abs=1e-5)
    assert figures["blink_agreement"].mean == 1


def test_a_shift_is_told_in_per_cent_of_the_eye_distance() -> None:
    was = face()
    figures = _measured((was, face(shift=(3.0, 4.0)))).figures()
    assert figures["error"].mean == pytest.approx(5 / eye_distance(was) * 100, rel=1e-3)


def test_another_shape_is_no_other_expression() -> None:
    """Brows of another shape, on a head that turns and comes nearer; then brows that move on their own."""
    brows = np.zeros((478, 2), np.float32)
    brows[[70, 63, 105, 336, 296, 334], 1] = 3.0
    poses = [_turned(angle, scale) for angle, scale in ((0.0, 1.0), (0.3, 1.2), (-0.2, 0.8))]
    figures = _measured(*((_posed(pose), _posed(pose, brows)) for pose in poses)).figures()
    assert (figures["error"].mean or 0) > 0
    assert figures["variation"].mean == pytest.approx(0, abs=1e-3)
    still = (face(), face())
    moved = _measured(still, (_posed(np.eye(2)), _posed(np.eye(2), brows))).figures()
    assert moved["variation"].mean == pytest.approx(moved["error"].mean, rel=1e-3)


def _turned(angle: float, scale: float) -> np.ndarray:
    return scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _posed(pose: np.ndarray, change: np.ndarray | float = 0.0) -> Landmarks:
    posed = face()
    posed[:, :2] = (posed[:, :2] + change) @ pose
    return posed


def test_the_mouth_alone() -> None:
    was, now = face(), face()
    now[[*OUTER_LIPS, *INNER_LIPS], 1] += 2
    figures = _measured((was, now)).figures()
    assert figures["mouth"].mean == pytest.approx(2 / eye_distance(was) * 100, rel=1e-3)
    assert figures["eyes"].mean == pytest.approx(0, abs=1e-5)
    assert 0 < (figures["error"].mean or 0) < (figures["mouth"].mean or 0)


def test_gaze_is_told_in_per_cent_of_the_eyes_width() -> None:
    was, now = face(), face()
    for corner, other, iris in ((33, 133, 468), (263, 362, 473)):
        now[iris, :2] += 0.1 * (now[other, :2] - now[corner, :2])
    np.testing.assert_allclose(gaze_of(now)[:, 0] - gaze_of(was)[:, 0], 0.1, atol=1e-3)
    assert _measured((was, now)).figures()["gaze"].mean == pytest.approx(10, rel=1e-2)


def test_gaze_does_not_depend_on_where_the_head_is() -> None:
    turn = np.array([[0.8, -0.6], [0.6, 0.8]], np.float32)
    turned = face()
    turned[:, :2] = turned[:, :2] @ turn.T * 1.7 + (30, -80)
    np.testing.assert_allclose(gaze_of(turned), gaze_of(face()), atol=1e-4)
    assert openness(turned) == pytest.approx(openness(face()), rel=1e-3)


@pytest.mark.parametrize(("result_blinks", "agreement", "kept"), [(True, 1.0, 1.0), (False, 0.8, 0.0)])
def test_blinks(result_blinks: bool, agreement: float, kept: float) -> None:
    wide, shut = face(), _closed(face())
    pairs = [(wide, wide)] * 4 + [(shut, shut if result_blinks else wide)]
    figures = _measured(*pairs).figures()
    assert figures["blink_agreement"].mean == pytest.approx(agreement)
    assert figures["blinks_kept"].mean == pytest.approx(kept)


def test_without_blinks_and_truth_the_figures_say_why() -> None:
    figures = _measured((face(), face())).figures()
    assert figures["blinks_kept"].reason == "the performer does not blink"
    assert figures["error_to_truth"].reason == "no truth is known"
    assert ExpressionMeasure().figures()["error"].reason == "no face was swapped"


def test_landmark_error_by_hand() -> None:
    true = np.zeros((2, 3), np.float32)
    found = np.array([[3, 4, 9], [0, 1, 9]], np.float32)
    assert landmark_error(found, true, 50) == pytest.approx(100 * 3 / 50)
