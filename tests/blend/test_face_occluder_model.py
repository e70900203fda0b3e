"""The shipped occlusion network: its contract, and that it sees what is before a face and nothing else."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from livefusion.blend.occlusion_crop import crop_of
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.media.sources.performer_mesh import OVAL
from livefusion.media.sources.performer_photo import load_performer_photos

pytestmark = pytest.mark.unit

SIDE = 128
Image = npt.NDArray[np.uint8]
Share = npt.NDArray[np.float32]


@pytest.fixture(scope="module")
def network() -> Session:
    return Session(ModelRegistry.load()["face_occluder"])


@pytest.fixture(scope="module")
def crop() -> tuple[Image, npt.NDArray[np.bool_]]:
    """The performer's bare face, and where it is."""
    photo = load_performer_photos()[0]
    to_crop = crop_of(photo.landmarks, 4 * SIDE)
    large = cv2.warpAffine(photo.rgb, to_crop.matrix, (4 * SIDE, 4 * SIDE))
    outline = to_crop(photo.landmarks[list(OVAL), :2].astype(np.float64)) / 4
    face = cv2.fillConvexPoly(np.zeros((SIDE, SIDE), np.uint8), np.rint(outline).astype(np.int32), 1)
    image = cv2.resize(large, (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(image, np.uint8), np.asarray(face > 0, np.bool_)


def look(network: Session, image: npt.NDArray[Any]) -> Share:
    planes = np.ascontiguousarray(image.transpose(2, 0, 1)[None], np.float32) / 255
    return np.asarray(network.run({"image": planes})["occlusion"])[0, 0]


def test_a_share_for_each_pixel(network: Session) -> None:
    image = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3))
    for picture in (image, np.zeros_like(image), np.full_like(image, 255)):
        share = look(network, picture)
        assert share.shape == (SIDE, SIDE)
        assert share.dtype == np.float32
        assert np.isfinite(share).all()
        assert share.min() >= 0
        assert share.max() <= 1


def test_a_bare_face_is_not_covered(network: Session, crop: tuple[Image, npt.NDArray[np.bool_]]) -> None:
    image, face = crop
    assert (look(network, image)[face] > 0.5).mean() < 0.03


@pytest.mark.parametrize("level", [20, 70, 110, 235])
@pytest.mark.parametrize(("x", "y"), [(40, 70), (64, 84), (80, 40)])
def test_a_box_before_the_face_is_found(
    network: Session, crop: tuple[Image, npt.NDArray[np.bool_]], level: int, x: int, y: int
) -> None:
    image, face = crop
    covered, box = image.copy(), np.zeros((SIDE, SIDE), np.bool_)
    box[y - 14 : y + 14, x - 12 : x + 12] = True
    covered[box] = level
    said = (look(network, covered) > 0.5) & face
    assert said[box & face].mean() > 0.9
    assert said[face & ~box].mean() < 0.15
