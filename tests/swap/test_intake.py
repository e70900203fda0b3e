"""What is said about a photo, fault by fault: a persona's portrait, spoilt in one way at a time."""

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest

from livefusion.core.errors import IdentityError
from livefusion.core.face import FaceObservation, Landmarks
from livefusion.core.geometry import Box
from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.intake import Intake, PhotoScore, judge_photo, turned_by
from livefusion.swap.intake.criterion import FINE, graded
from livefusion.swap.intake.mien import mien_criteria
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.shape import fit_pose
from livefusion.swap.persona import PersonaLibrary

pytestmark = pytest.mark.media

Rgb = np.ndarray
Photo = tuple[Rgb, Landmarks]
SIDE, HEIGHT = 560, 400.0
HAIR, RIM = (35, 25, 20), (30, 25, 22)
# From the outer corner of each eye to the inner one, point by point.
UPPER_LIDS = ((33, 246, 161, 160, 159, 158, 157, 173), (263, 466, 388, 387, 386, 385, 384, 398))
LOWER_LIDS = ((33, 7, 163, 144, 145, 153, 154, 155), (263, 249, 390, 373, 374, 380, 381, 382))
BROWS = (46, 52, 53, 55, 63, 65, 66, 70, 105, 107, 276, 282, 283, 285, 293, 295, 296, 300, 334, 336)


def _portrait(yaw: float = 0.0, height: float = HEIGHT) -> Photo:
    """A persona from the front or from aside, on a plain ground, and its true landmarks."""
    persona = PersonaLibrary().load("alex")
    mesh = canonical_mesh()
    level = fit_pose(persona.shape, mesh.vertices)(persona.shape)
    level = (level - level.mean(axis=0)) * height / np.ptp(level[:, 1])
    angle = np.radians(yaw)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    points = np.ascontiguousarray(level @ turn.T + (SIDE / 2, SIDE / 2, 0), np.float32)
    texture = persona.texture.copy()
    texture[..., 3] = 255
    picture = np.empty((SIDE, SIDE, 4), np.uint8)
    DRAW_MESH.body("cpu")(
        vertices=np.ascontiguousarray(points[:, :2]),
        depth=np.ascontiguousarray(points[:, 2]),
        uv=mesh.texels(),
        weight=np.ones(VERTEX_COUNT, np.float32),
        triangles=mesh.triangles,
        texture=texture,
        patch=picture,
    )
    picture[picture[..., 3] == 0, :3] = texture[0, 0, :3]
    irises = [np.repeat(points[list(eye)].mean(axis=0)[None], 5, 0) for eye in (RIGHT_EYE, LEFT_EYE)]
    return np.ascontiguousarray(picture[..., :3]), np.concatenate([points, *irises]).astype(np.float32)


def _times(photo: Photo, gain: np.ndarray | float) -> Photo:
    return np.asarray(np.clip(photo[0] * gain + 0.5, 0, 255), np.uint8), photo[1]


def _dark(photo: Photo) -> Photo:
    return _times(photo, 0.25)


def _side_lit(photo: Photo) -> Photo:
    return _times(photo, np.interp(np.arange(SIDE), (120, 440), (0.3, 1.15))[None, :, None])


def _tinted(photo: Photo) -> Photo:
    return _times(photo, np.array([0.55, 0.8, 1.3]))


def _burnt(photo: Photo) -> Photo:
    return _times(photo, 2.2)


def _blurred(photo: Photo) -> Photo:
    return np.asarray(cv2.GaussianBlur(photo[0], (0, 0), 5), np.uint8), photo[1]


def _small(photo: Photo) -> Photo:
    small = cv2.resize(photo[0], (SIDE // 4, SIDE // 4), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), photo[1] / 4


def _shadowed(photo: Photo) -> Photo:
    """A shadow with a hard edge over the cheeks, as of the brim of a hat."""
    gain = np.ones((SIDE, SIDE, 1), np.float32)
    gain[:290] = 0.3
    return _times(photo, gain)


def _fringed(photo: Photo) -> Photo:
    rgb, points = photo[0].copy(), photo[1]
    brow, top = float(points[105, 1]), float(points[10, 1])
    cv2.rectangle(rgb, (0, 0), (SIDE, round(brow + 0.1 * (top - brow))), HAIR, -1)
    return rgb, points


def _glasses(photo: Photo) -> Photo:
    rgb, points = photo[0].copy(), photo[1][:, :2]
    reach = float(np.hypot(*(points[33] - points[263])))
    eyes = [points[list(ring)].mean(axis=0) + np.array([0, 0.06 * reach]) for ring in (RIGHT_EYE, LEFT_EYE)]
    thick = round(0.03 * reach)
    for x, y in eyes:
        axes = (round(0.25 * reach), round(0.2 * reach))
        cv2.ellipse(rgb, (round(float(x)), round(float(y))), axes, 0, 0, 360, RIM, thick, cv2.LINE_AA)
    (left, y), (right, _) = eyes
    ends = [(round(float(x)), round(float(y))) for x in (left + 0.25 * reach, right - 0.25 * reach)]
    cv2.line(rgb, ends[0], ends[1], RIM, thick, cv2.LINE_AA)
    return rgb, photo[1]


def _open_mouth(photo: Photo) -> Photo:
    points = photo[1].copy()
    points[14, 1] += 40
    return photo[0], points


def _smiling(photo: Photo) -> Photo:
    """The corners of the mouth, and the cheeks with them, drawn out and up."""
    points = photo[1].copy()
    for corner, outwards in ((61, -1), (291, 1)):
        apart = np.linalg.norm(photo[1][:, :2] - photo[1][corner, :2], axis=1)
        pull = np.exp(-np.square(apart / 50))
        points[:, 0] += outwards * 20 * pull
        points[:, 1] -= 14 * pull
    return photo[0], points


def _eyes_shut(photo: Photo) -> Photo:
    points = photo[1].copy()
    for upper, lower in zip(UPPER_LIDS, LOWER_LIDS, strict=True):
        points[list(upper)] += 0.9 * (points[list(lower)] - points[list(upper)])
    return photo[0], points


def _brows_raised(photo: Photo) -> Photo:
    points = photo[1].copy()
    points[list(BROWS), 1] -= 20
    return photo[0], points


SPOILT: dict[str, tuple[Callable[[Photo], Photo], str, str]] = {
    "dark": (_dark, "exposure", "dark"),
    "side light": (_side_lit, "side light", "the right of the picture"),
    "tint": (_tinted, "colour", "colours"),
    "burnt": (_burnt, "highlights", "burnt out"),
    "blur": (_blurred, "sharpness", "blurred"),
    "small": (_small, "size", "px wide"),
    "shadow": (_shadowed, "shadows", "hard shadows"),
    "fringe": (_fringed, "fringe", "forehead"),
    "glasses": (_glasses, "glasses", "glasses"),
    "open mouth": (_open_mouth, "mouth", "mouth is open"),
    "smile": (_smiling, "smile", "smiles"),
    "shut eyes": (_eyes_shut, "eyes", "eyes are closed"),
    "raised brows": (_brows_raised, "brows", "brows are raised"),
    "turned": (lambda _photo: _portrait(yaw=32), "pose", "turned away by 3"),
}


@pytest.fixture(scope="module")
def intake() -> Intake:
    return Intake()


@pytest.fixture(scope="module")
def clean() -> Photo:
    return _portrait()


@pytest.fixture(scope="module")
def before(intake: Intake, clean: Photo) -> PhotoScore:
    return _score(intake, clean)


def _seen(landmarks: Landmarks) -> FaceObservation:
    return FaceObservation(Box.around(landmarks), 0.99, None, landmarks)


def _score(intake: Intake, photo: Photo) -> PhotoScore:
    return intake.score("me.jpg", photo[0], [_seen(photo[1])])


def test_of_a_good_portrait_there_is_nothing_to_be_said(before: PhotoScore) -> None:
    assert before.advice == ()
    assert before.overall > 80


@pytest.mark.parametrize("fault", SPOILT)
def test_a_fault_lowers_its_own_score_and_names_itself(
    fault: str, intake: Intake, clean: Photo, before: PhotoScore
) -> None:
    spoil, name, words = SPOILT[fault]
    after = _score(intake, spoil(clean))
    scores = {each.name: each.score for each in after.criteria}
    assert scores.pop(name) < FINE
    others = {key: score for key, score in scores.items() if score < FINE}
    assert not others
    assert [words in advice.problem for advice in after.advice] == [True]
    assert after.advice[0].remedy
    assert str(after.advice[0]).startswith("me.jpg: ")
    assert after.overall < before.overall - 5


def test_what_somebody_sees_before_the_face_counts(clean: Photo, before: PhotoScore) -> None:
    hidden = _score(Intake(lambda _rgb, _landmarks: 0.3), clean)
    assert [advice.problem for advice in hidden.advice] == ["something is before the face"]
    assert {each.name for each in hidden.criteria} - {each.name for each in before.criteria} == {"cover"}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda _photo: _portrait(yaw=50), "turned away by 50°, to the (left|right) in me.jpg: look"),
        (lambda _photo: _portrait(height=80), "px wide in me.jpg"),
        (lambda photo: _times(photo, 0.05), "dark in me.jpg"),
        (lambda photo: _times(photo, 9.0), "burnt out in me.jpg"),
    ],
)
def test_refusal(spoil: Callable[[Photo], Photo], said: str, intake: Intake, clean: Photo) -> None:
    rgb, landmarks = spoil(clean)
    with pytest.raises(IdentityError, match=said):
        judge_photo("me.jpg", rgb, [_seen(landmarks)], intake)


def test_no_face_and_several_faces(intake: Intake, clean: Photo) -> None:
    rgb, landmarks = clean
    face = _seen(landmarks)
    with pytest.raises(IdentityError, match=r"no face in me\.jpg"):
        judge_photo("me.jpg", rgb, [], intake)
    with pytest.raises(IdentityError, match=r"no face in me\.jpg"):
        judge_photo("me.jpg", rgb, [replace(face, landmarks=None)], intake)
    with pytest.raises(IdentityError, match=r"2 faces in me\.jpg"):
        judge_photo("me.jpg", rgb, [face, face], intake)


def test_small_faces_in_the_background_do_not_matter(intake: Intake, clean: Photo) -> None:
    rgb, landmarks = clean
    behind = _seen(landmarks / 5)
    assert judge_photo("me.jpg", rgb, [_seen(landmarks), behind], intake) == ()


def test_scores_are_for_programs_too(before: PhotoScore) -> None:
    document = before.as_json()
    assert document["usable"]
    assert document["criteria"]["pose"] == before.least(["pose"]) >= 90
    assert before.least(["nothing of that name"]) == 100


def test_grades_lie_on_straight_lines() -> None:
    assert [graded(value, (0, 100), (10, 50)) for value in (-1, 0, 5, 10, 99)] == [100, 100, 75, 50, 50]


@pytest.mark.parametrize(
    ("name", "indices", "steps"),
    [
        ("smile", (44, 45), (0.05, 0.45, 0.75, 1.0)),
        ("eyes", (9, 10), (0.1, 0.4, 0.6, 0.9)),
        ("brows", (3,), (0.2, 0.55, 0.8, 1.0)),
        ("brows", (4, 5), (0.2, 0.55, 0.8, 1.0)),
    ],
)
def test_an_expression_scores_the_less_the_stronger_it_is(
    name: str, indices: tuple[int, ...], steps: tuple[float, ...], clean: Photo
) -> None:
    found = []
    for value in steps:
        scores = np.zeros(52, np.float32)
        scores[list(indices)] = value
        criteria = {each.name: each for each in mien_criteria(clean[1], scores)}
        found.append(criteria.pop(name))
        assert all(other.fine for other in criteria.values())
    assert [each.fine for each in found] == [True, True, False, False]
    assert found[0].score == 100
    assert sorted((each.score for each in found), reverse=True) == [each.score for each in found]
    assert not any(each.fatal for each in found)


def test_one_shut_eye_is_no_blink_of_both(clean: Photo) -> None:
    scores = np.zeros(52, np.float32)
    scores[9] = 0.8
    assert {each.name: each.fine for each in mien_criteria(clean[1], scores)}["eyes"]


@pytest.mark.parametrize("yaw", [0, -20, 45])
def test_angle(posed: Callable[..., Landmarks], yaw: float) -> None:
    assert turned_by(posed(yaw=yaw)) == pytest.approx(abs(yaw), abs=0.5)
