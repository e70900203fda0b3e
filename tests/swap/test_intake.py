"""What is said about a photo, fault by fault."""

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np
import pytest

from livefusion.core.errors import IdentityError
from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Box
from livefusion.swap.intake import judge_photo, turned_by

pytestmark = pytest.mark.unit

Posed = Callable[..., np.ndarray]
SIDE = 400


def _photo(level: int = 130, *, blur: float = 0.0, slope: float = 0.0) -> np.ndarray:
    """Noise round a brightness, with grain and with features, like skin with pores, eyes and lips."""
    rng = np.random.default_rng(7)
    coarse = cv2.resize(rng.normal(0, 0.2, (12, 12)).astype(np.float32), (SIDE, SIDE))
    grain = cv2.GaussianBlur(rng.normal(0, 0.3, (SIDE, SIDE)).astype(np.float32), (0, 0), 1.0)
    light = 1 + slope * np.linspace(-1, 1, SIDE)
    picture = np.clip(level * light * (1 + coarse + grain), 0, 255).astype(np.float32)
    if blur:
        picture = cv2.GaussianBlur(picture, (0, 0), blur)
    return np.repeat(picture.astype(np.uint8)[..., None], 3, axis=2)


def _seen(landmarks: np.ndarray) -> FaceObservation:
    return FaceObservation(Box.around(landmarks), 0.99, None, landmarks)


def _landmarks(posed: Posed, yaw: float = 0.0, height: float = 300.0, gap: float = 0.0) -> np.ndarray:
    landmarks = posed(height=height, centre=(SIDE / 2, SIDE / 2), yaw=yaw)
    landmarks[14, 1] = landmarks[13, 1] + gap
    return landmarks


@pytest.mark.parametrize(
    ("picture", "pose", "said"),
    [
        ({}, {}, []),
        ({}, {"yaw": 32}, ["turned away by 32°"]),
        ({}, {"height": 160}, ["px wide"]),
        ({}, {"gap": 30}, ["mouth is open"]),
        ({"level": 45}, {}, ["dark"]),
        ({"level": 240}, {}, ["burnt out"]),
        ({"slope": 0.9}, {}, ["one side"]),
        ({"blur": 5.0}, {}, ["blurred"]),
        ({"level": 45}, {"yaw": -32}, ["turned away", "dark"]),
    ],
)
def test_advice(picture: dict[str, float], pose: dict[str, float], said: list[str], posed: Posed) -> None:
    advice = judge_photo("me.jpg", _photo(**picture), [_seen(_landmarks(posed, **pose))])
    assert len(advice) == len(said), [str(line) for line in advice]
    for line, words in zip(advice, said, strict=True):
        assert words in line.problem
        assert str(line).startswith("me.jpg: ")
        assert line.remedy


@pytest.mark.parametrize(
    ("picture", "pose", "said"),
    [
        ({}, {"yaw": 55}, "turned away by 55° in me.jpg: use"),
        ({}, {"height": 70}, "px wide in me.jpg"),
        ({"level": 12}, {}, "dark in me.jpg"),
        ({"level": 255 * 4}, {}, "burnt out in me.jpg"),
    ],
)
def test_refusal(picture: dict[str, float], pose: dict[str, float], said: str, posed: Posed) -> None:
    with pytest.raises(IdentityError, match=said):
        judge_photo("me.jpg", _photo(**picture), [_seen(_landmarks(posed, **pose))])


def test_no_face_and_several_faces(posed: Posed) -> None:
    face = _seen(_landmarks(posed))
    with pytest.raises(IdentityError, match=r"no face in me\.jpg"):
        judge_photo("me.jpg", _photo(), [])
    with pytest.raises(IdentityError, match=r"no face in me\.jpg"):
        judge_photo("me.jpg", _photo(), [replace(face, landmarks=None)])
    with pytest.raises(IdentityError, match=r"2 faces in me\.jpg"):
        judge_photo("me.jpg", _photo(), [face, face])


def test_small_faces_in_the_background_do_not_matter(posed: Posed) -> None:
    behind = _seen(posed(height=60, centre=(50, 50)))
    assert judge_photo("me.jpg", _photo(), [_seen(_landmarks(posed)), behind]) == ()


@pytest.mark.parametrize("yaw", [0, -20, 45])
def test_angle(posed: Posed, yaw: float) -> None:
    assert turned_by(_landmarks(posed, yaw=yaw)) == pytest.approx(abs(yaw), abs=0.5)
