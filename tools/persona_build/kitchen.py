"""Where recipes become faces: the layers and shapes of all contributors, each made once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.swap.mesh.canonical import Floats

from .composite import Blend, Layer, blend, groom, paint, peel
from .forms import ShapeSpace
from .recipes import Recipe

Rgb = npt.NDArray[np.uint8]
Face = tuple[Rgb, Landmarks]


class Kitchen:
    """Cooks personas from the ``faces`` of contributors, by key."""

    def __init__(self, faces: Mapping[str, Face]) -> None:
        self.faces = faces
        self._kin: dict[tuple[str, ...], Blend] = {}

    def cook(self, recipe: Recipe) -> tuple[Rgb, Floats]:
        """The (1024, 1024, 3) RGB texture and the (468, 3) shape of a persona."""
        shares = list(recipe.shares.values())
        own = blend([self._layers[key] for key in recipe.shares], shares)
        mixed = own.away_from(self._blend_of(recipe.kin), recipe.away)
        numbers = [list(self.faces).index(key) for key in recipe.shares]
        shape = self._space.form(numbers, shares, recipe.shape_away, recipe.moved)
        groomed = groom(mixed, recipe.beard, recipe.brows)
        return paint(groomed, recipe.tone, recipe.age, recipe.plain), shape

    def _blend_of(self, kin: tuple[str, ...]) -> Blend:
        if kin not in self._kin:
            self._kin[kin] = blend([self._layers[key] for key in kin], [1.0] * len(kin))
        return self._kin[kin]

    @cached_property
    def _layers(self) -> dict[str, Layer]:
        return {key: peel(*face) for key, face in self.faces.items()}

    @cached_property
    def _space(self) -> ShapeSpace:
        return ShapeSpace([layer.shape for layer in self._layers.values()])
