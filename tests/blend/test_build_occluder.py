"""The examples that the occlusion network is trained on: drawn things, and faces without any."""

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from occluder_build import cloth, glasses, hair, hands, nature, objects, scene
from occluder_build.faces import FULL, MARGIN, SIDE, FaceBank, hair_in_face, skin_colour
from occluder_build.layer import Scene
from occluder_build.photos import PACKAGES

from livefusion.blend.occlusion_crop import crop_of
from livefusion.swap.mesh.canonical import canonical_mesh

pytestmark = pytest.mark.unit

GENERATORS = (
    *(hands.hand, hair.strand, hair.fringe, hair.curtain, glasses.glasses, objects.microphone),
    *(objects.headset, objects.vessel, objects.slab, objects.food, cloth.mask, cloth.scarf),
    *(cloth.strap, cloth.piece),
)


@pytest.fixture(scope="module")
def bank() -> FaceBank:
    """One even face of the canonical shape."""
    vertices = canonical_mesh().vertices
    points = (crop_of(vertices, SIDE)(vertices[:, :2].astype(np.float64)) + MARGIN).astype(np.float32)
    image = np.full((FULL, FULL, 3), (90, 120, 140), np.uint8)
    cv2.fillConvexPoly(image, np.rint(cv2.convexHull(points)).astype(np.int32), (205, 160, 135))
    return FaceBank(image[None], points[None], np.zeros((1, FULL, FULL), np.uint8), np.array([300.0]))


def _scene(bank: FaceBank, seed: int) -> Scene:
    points = bank.points[0] - MARGIN
    image = bank.images[0, MARGIN:-MARGIN, MARGIN:-MARGIN]
    width, height = np.ptp(points, axis=0).tolist()
    rng = np.random.default_rng(seed)
    return Scene(rng, points, width, height, skin_colour(image, points), image)


@pytest.mark.parametrize("draw", GENERATORS, ids=lambda draw: draw.__name__)
def test_a_thing_is_drawn_over_a_part_of_the_crop(draw: object, bank: FaceBank) -> None:
    shares = []
    for seed in range(12):
        layer = draw(_scene(bank, seed))  # type: ignore[operator]
        assert layer.rgb.shape == (SIDE, SIDE, 3)
        assert layer.rgb.dtype == layer.alpha.dtype == np.uint8
        shares.append(float((layer.alpha > 127).mean()))
    assert max(shares) > 0.002
    assert np.median(shares) < 0.7


def test_examples_are_repeatable_and_differ(bank: FaceBank) -> None:
    one, again = (scene.compose(bank, np.random.default_rng(3)) for _ in range(2))
    other = scene.compose(bank, np.random.default_rng(4))
    assert np.array_equal(one.image, again.image)
    assert np.array_equal(one.cover, again.cover)
    assert not np.array_equal(one.image, other.image)


def test_what_nature_does_to_a_face_shows(bank: FaceBank) -> None:
    image = bank.images[0, MARGIN:-MARGIN, MARGIN:-MARGIN]
    changed = [not np.array_equal(nature.dress(_scene(bank, seed), image), image) for seed in range(12)]
    assert sum(changed) > 6


def test_unlabelled_hair_asks_nothing(bank: FaceBank) -> None:
    points = bank.points[0]
    image = bank.images[0].copy()
    y, x = int(points[10, 1]) + 12, int(points[10, 0])
    image[y - 8 : y + 8, x - 30 : x + 30] = 20
    unsure = hair_in_face(image, points)
    assert unsure[y, x] == 255
    assert hair_in_face(bank.images[0], points)[int(points[1, 1]), int(points[1, 0])] == 0


def test_every_package_is_pinned_and_free() -> None:
    assert all(len(package.sha256) == 64 and package.licence == "MIT" for package in PACKAGES)
    assert len({package.archive for package in PACKAGES}) == len(PACKAGES)
