"""The recipes of the personas, and that the build notices a persona that is not the one it makes."""

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from build_personas import differences, find_contributors, require_unlike
from persona_build.age import weather
from persona_build.composite import Blend, paint
from persona_build.forms import ShapeSpace
from persona_build.photos import PHOTOS, BuildError, PhotoStore, package_of
from persona_build.recipes import CONTRIBUTORS, RECIPES, Recipe

from livefusion.core.face import FaceObservation, Identity
from livefusion.core.geometry import Box
from livefusion.evaluation.portrait import portrait
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.persona import PersonaLibrary, pack_persona

pytestmark = pytest.mark.unit


def test_the_list_is_what_the_recipes_make() -> None:
    library = PersonaLibrary()
    assert library.names() == tuple(recipe.name for recipe in RECIPES)
    for recipe in RECIPES:
        assert library.entry(recipe.name).contributors == tuple(map(str, recipe.contributors))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_has_six_faces_of_known_photos(recipe: Recipe) -> None:
    assert len(set(map(str, recipe.contributors))) == len(recipe.contributors) >= 6
    assert {contributor.photo for contributor in recipe.contributors} <= set(PHOTOS)
    assert set(recipe.kin) <= set(CONTRIBUTORS)
    assert sum(recipe.shares.values()) == pytest.approx(1, abs=0.16)
    assert max(recipe.shares.values()) < 0.35


def test_every_photo_is_used_and_has_a_licence() -> None:
    assert {contributor.photo for contributor in CONTRIBUTORS.values()} == set(PHOTOS)
    assert {package_of(photo).licence for photo in PHOTOS} == {"MIT"}


def test_another_face_is_noticed() -> None:
    library = PersonaLibrary()
    alex, noor = library.load("alex"), library.load("noor")
    folder = library.entry("alex").path.parent
    impostor = Identity("alex", "Alex", noor.texture, noor.shape, noor.embedding)
    assert differences({"alex": pack_persona(alex)}, folder) == []
    assert differences({"alex": pack_persona(impostor), "new": b""}, folder) == ["new", "alex"]


def test_a_contributor_who_is_not_there_is_refused() -> None:
    class Blind:
        def find(self, rgb: np.ndarray, *, max_side: int) -> list[FaceObservation]:
            return [FaceObservation(Box(0, 0, 9, 9), 0.9, None, np.zeros((478, 3), np.float32))]

    photos = {name: np.zeros((8, 8, 3), np.uint8) for name in PHOTOS}
    with pytest.raises(BuildError, match="no face at face-api/sample"):
        find_contributors(CONTRIBUTORS, photos, Blind())  # type: ignore[arg-type]


def test_without_npm_the_build_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="npm"):
        PhotoStore(tmp_path).load()


def test_a_persona_is_rendered_upright_and_whole() -> None:
    rgb, landmarks = portrait(PersonaLibrary().load("robin"))
    assert rgb.shape == (320, 320, 3)
    assert landmarks.shape == (478, 3)
    assert landmarks[10, 1] < landmarks[1, 1] < landmarks[152, 1]
    assert abs(landmarks[468:473, 0].mean() + landmarks[473:, 0].mean() - 320) < 4


def test_two_personas_that_are_alike_are_refused() -> None:
    alex = pack_persona(PersonaLibrary().load("alex"))
    require_unlike({name: pack_persona(PersonaLibrary().load(name)) for name in ("alex", "sam")})
    with pytest.raises(BuildError, match="alike"):
        require_unlike({"alex": alex, "twin": alex})


def test_what_sets_a_blend_apart_is_made_stronger() -> None:
    kin = Blend(np.zeros((4, 4, 3), np.float32), np.zeros((4, 4), np.float32))
    own = Blend(np.ones((4, 4, 3), np.float32), np.ones((4, 4), np.float32))
    apart = own.away_from(kin, 1.5)
    assert (apart.detail == 1.5).all()
    assert (apart.shading == 1).all()


@pytest.fixture(scope="module")
def space() -> ShapeSpace:
    noise = np.random.default_rng(0)
    mesh = canonical_mesh().vertices
    return ShapeSpace([mesh * noise.uniform(0.9, 1.1, 3).astype(np.float32) for _ in range(5)])


def test_shapes_are_symmetric_and_move_where_the_swap_looks(space: ShapeSpace) -> None:
    plain = space.form([0, 1, 2], [1, 1, 2], 1.0, (0.0,))
    moved = space.form([0, 1, 2], [1, 1, 2], 1.0, (2.0, -1.0))
    for shape in (plain, moved):
        assert abs(shape[33, 1] - shape[263, 1]) < 0.05
        assert abs((shape[33, 0] + shape[263, 0]) / 2 - shape[1, 0]) < 0.05
    distance = np.linalg.norm(moved - plain, axis=1)
    assert distance.max() > 0.05
    assert distance[13] < 1e-5  # between the lips


def test_age_zero_is_no_age() -> None:
    lab = np.full((1024, 1024, 3), (66, 15, 19), np.float32)
    assert weather(lab, 0.0) is lab


def test_folds_darken_the_skin_on_both_sides() -> None:
    lab = np.full((1024, 1024, 3), (66, 15, 19), np.float32)
    older = weather(lab, 1.0)
    texels = canonical_mesh().texels().round().astype(int)
    for vertex in (206, 426, 230, 450):
        x, y = texels[vertex]
        assert older[y - 6 : y + 7, x - 6 : x + 7, 0].min() < 64
    assert abs(float(older[..., 0].mean()) - 66) < 1


def test_the_skin_between_the_features_is_made_plain() -> None:
    noise = np.random.default_rng(0).normal(size=(1024, 1024, 3)).astype(np.float32)
    blotched = Blend(cv2.GaussianBlur(noise, (0, 0), 20) * 100, np.zeros((1024, 1024), np.float32))
    rough, smooth = (paint(blotched, (66.0, 15.0, 19.0), 0.0, plain).astype(float) for plain in (0.0, 1.0))
    texels = canonical_mesh().texels().round().astype(int)

    def spread(texture: np.ndarray, vertex: int) -> float:
        x, y = texels[vertex]
        return float(texture[y - 25 : y + 26, x - 25 : x + 26].mean(axis=2).std())

    assert max(spread(smooth, vertex) for vertex in (205, 425)) < 6
    assert spread(smooth, 205) < spread(rough, 205)
    assert spread(smooth, 4) == pytest.approx(spread(rough, 4), rel=0.05)
