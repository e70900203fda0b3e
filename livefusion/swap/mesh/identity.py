"""From photos to an identity: the texture with its alpha, and the neutral shape."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Identity
from livefusion.swap.mesh.bake import SourcePhoto, View, delight, merge, unwrap
from livefusion.swap.mesh.canonical import RIGID, Floats
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.shape import fit_pose
from livefusion.swap.mesh.skin import hair_cut

_SHAPE_ROUNDS = 3


def bake_identity(
    photos: Sequence[SourcePhoto],
    *,
    id: str,
    label: str,
    embedding: npt.NDArray[np.float32] | None = None,
    consent: dict[str, Any] | None = None,
) -> Identity:
    """An identity from one or more photos of one person; takes about a second a photo.

    ``ValueError`` if there is no photo. Whether a photo is good enough is ``swap.intake``'s to say.
    """
    if not photos:
        raise ValueError("an identity needs at least one photo")
    views = [unwrap(photo) for photo in photos]
    rgb = delight(merge(views))
    alpha = face_mask() * hair_cut(rgb)
    texture = np.dstack([rgb, np.round(alpha * 255).astype(np.uint8)])
    return Identity(id, label, texture, mean_shape([view.shape for view in views]), embedding, consent)


def mean_shape(shapes: Sequence[Floats]) -> Floats:
    """The mean of (468, 3) meshes after each has been posed onto it (generalised Procrustes analysis)."""
    rigid = list(RIGID)
    mean = shapes[0].astype(np.float64)
    if len(shapes) > 1:
        for _ in range(_SHAPE_ROUNDS):
            posed = [fit_pose(shape[rigid], mean[rigid])(shape) for shape in shapes]
            mean = np.mean(posed, axis=0)
    return mean.astype(np.float32)


__all__ = ["SourcePhoto", "View", "bake_identity", "mean_shape"]
