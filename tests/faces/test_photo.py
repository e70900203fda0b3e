"""Faces of a real photo, at every roll, through the built-in networks."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.geometry import Affine, Size
from livefusion.faces.detect import unturn
from livefusion.faces.embed import SAME_PERSON
from livefusion.faces.photo import PhotoFaces
from livefusion.faces.points import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS

pytestmark = pytest.mark.unit

PHOTO = Path(__file__).resolve().parents[2] / "models" / "performer" / "first.webp"


@pytest.fixture(scope="module")
def finder() -> PhotoFaces:
    return PhotoFaces.from_registry()


@pytest.fixture(scope="module")
def photo() -> npt.NDArray[np.uint8]:
    if not PHOTO.exists():
        pytest.skip("the performer's photo is not here")
    picture = cv2.imread(str(PHOTO))
    assert picture is not None
    return np.ascontiguousarray(picture[:, :, ::-1])


def eye_distance(landmarks: npt.NDArray[np.float32]) -> float:
    return float(np.linalg.norm(landmarks[LEFT_EYE_CORNERS[0], :2] - landmarks[RIGHT_EYE_CORNERS[0], :2]))


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_finds_the_same_face_in_every_orientation(
    finder: PhotoFaces, photo: npt.NDArray[np.uint8], turns: int
) -> None:
    (upright,) = finder.find(photo)
    (turned,) = finder.find(np.ascontiguousarray(np.rot90(photo, turns)))
    assert upright.landmarks is not None
    assert turned.landmarks is not None
    back = unturn(Size(photo.shape[1], photo.shape[0]), turns)(turned.landmarks[:, :2])
    error = np.linalg.norm(back - upright.landmarks[:, :2], axis=1).mean()
    assert error < 0.02 * eye_distance(upright.landmarks)
    assert upright.score > 0.9
    likeness = finder.embed(photo, upright.landmarks) @ finder.embed(
        np.ascontiguousarray(np.rot90(photo, turns)), turned.landmarks
    )
    assert likeness > 0.95


@pytest.mark.parametrize("roll", [-150, -70, -35, 20, 50, 90])
def test_follows_roll_and_scale(finder: PhotoFaces, photo: npt.NDArray[np.uint8], roll: float) -> None:
    (upright,) = finder.find(photo)
    assert upright.landmarks is not None
    centre = (photo.shape[1] / 2, photo.shape[0] / 2)
    turn = Affine.similarity(0.7, np.radians(roll), upright.box.centre, centre)
    picture = cv2.warpAffine(photo, turn.matrix, (photo.shape[1], photo.shape[0]))
    (found,) = finder.find(picture.astype(np.uint8))
    assert found.landmarks is not None
    error = np.linalg.norm(found.landmarks[:, :2] - turn(upright.landmarks[:, :2]), axis=1).mean()
    assert error < 0.03 * 0.7 * eye_distance(upright.landmarks)


def test_a_picture_without_a_face_has_none(finder: PhotoFaces) -> None:
    noise = np.random.default_rng(3).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    assert finder.find(noise) == []
    assert finder.find(np.zeros((1, 1, 3), np.uint8)) == []


def test_mirrored_face_is_still_the_person(finder: PhotoFaces, photo: npt.NDArray[np.uint8]) -> None:
    mirrored = np.ascontiguousarray(photo[:, ::-1])
    one, other = finder.find(photo)[0].landmarks, finder.find(mirrored)[0].landmarks
    assert one is not None
    assert other is not None
    assert finder.embed(photo, one) @ finder.embed(mirrored, other) > SAME_PERSON


@pytest.mark.parametrize("turns", range(4))
def test_unturn_undoes_rot90(turns: int) -> None:
    picture = np.arange(12).reshape(3, 4)
    turned = np.rot90(picture, turns)
    back = unturn(Size(4, 3), turns)
    for row, column in np.ndindex(*turned.shape):
        x, y = back(np.array([[column, row]], float))[0]
        assert picture[round(y), round(x)] == turned[row, column]
