"""From a photo to a texture that can be put on: without its light, its smile, its hair and its background."""

from collections.abc import Sequence

import numpy as np

from livefusion.swap.mesh.bake import Rgb, SourcePhoto, View, unwrap
from livefusion.swap.mesh.canonical import Floats
from livefusion.swap.mesh.delight import delight
from livefusion.swap.mesh.expression import ExpressionReader, strength
from livefusion.swap.mesh.glasses import without_glasses
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.person import PersonFinder
from livefusion.swap.mesh.skin import hair_cut
from livefusion.swap.mesh.smile import soften_smile


class PhotoCleaner:
    """Unwraps photos and takes out what is of the photo and not of the face. One thread at a time.

    ``ModelError`` if a network is missing or damaged.
    """

    def __init__(self) -> None:
        self._expression = ExpressionReader()
        self._person = PersonFinder()

    def view(self, photo: SourcePhoto, *, keep_expression: bool = False) -> View:
        """The unwrapped photo in even light, without glasses, and at rest unless its expression is wanted."""
        view = delight(without_glasses(unwrap(photo)))
        if keep_expression:
            return view
        return soften_smile(view, strength(self._expression(photo.landmarks), "smile"))

    def alpha(self, rgb: Rgb, photos: Sequence[SourcePhoto]) -> Floats:
        """(1024, 1024) in [0, 1]: what of the texture of these photos is put on."""
        person = np.max([self._person.share(photo) for photo in photos], axis=0)
        return np.asarray(face_mask() * hair_cut(rgb) * person, np.float32)
