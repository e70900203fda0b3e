"""The recipes of the personas, and that the build notices a persona that is not the one it makes."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from build_personas import differences, find_contributors
from persona_build.likeness import render_frontal
from persona_build.photos import SHA256, BuildError, PhotoStore
from persona_build.recipes import RECIPES, Recipe

from livefusion.core.face import FaceObservation, Identity
from livefusion.core.geometry import Box
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
    assert {contributor.photo for contributor in recipe.contributors} <= set(SHA256)


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

    photos = {name: np.zeros((8, 8, 3), np.uint8) for name in SHA256}
    with pytest.raises(BuildError, match="no face at sample"):
        find_contributors(RECIPES[0].contributors, photos, Blind())  # type: ignore[arg-type]


def test_without_npm_the_build_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="npm"):
        PhotoStore(tmp_path).load()


def test_a_persona_is_rendered_upright_and_whole() -> None:
    rgb, landmarks = render_frontal(PersonaLibrary().load("robin"))
    assert rgb.shape == (320, 320, 3)
    assert landmarks.shape == (478, 3)
    assert landmarks[10, 1] < landmarks[1, 1] < landmarks[152, 1]
    assert abs(landmarks[468:473, 0].mean() + landmarks[473:, 0].mean() - 320) < 4
