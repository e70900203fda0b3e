"""From photos to an identity: the texture with its alpha, the neutral shape, and what expressions change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Expression, Identity
from livefusion.swap.mesh.bake import Rgb, SourcePhoto, View
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import RIGID, Floats
from livefusion.swap.mesh.clean import PhotoCleaner
from livefusion.swap.mesh.coverage import skin_coverage
from livefusion.swap.mesh.mask import smoothstep
from livefusion.swap.mesh.merge import merge, seen_share
from livefusion.swap.mesh.shape import fit_pose
from livefusion.swap.portrait import MOST_PORTRAITS, portrait_of_photo

_SHAPE_ROUNDS = 3
EXPRESSION_SIDE = 512
"""Side of what an expression changes, in texels."""
# Pores stay those of the neutral face: what an expression changes is broader than this many texels.
_FOLD_BLUR = 2.5
# Differences in RGB up to this are noise of the camera and of the landmarks.
_NOISE = 2.0
_FACING = (0.2, 0.5)


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionPhotos:
    """Photos that show an expression at ``strength``, in (0, 1]; the others show it at ``rest``."""

    photos: Sequence[SourcePhoto]
    strength: float
    rest: float = 0.0


def bake_identity(
    photos: Sequence[SourcePhoto],
    *,
    id: str,
    label: str,
    embedding: npt.NDArray[np.float32] | None = None,
    consent: dict[str, Any] | None = None,
    expressions: Mapping[str, ExpressionPhotos] | None = None,
) -> Identity:
    """An identity from one or more photos of one person; takes about a third of a second a photo.

    ``ValueError`` if there is no photo. Whether a photo is good enough is ``swap.intake``'s to say.
    """
    if not photos:
        raise ValueError("an identity needs at least one photo")
    cleaner = PhotoCleaner()
    views = [cleaner.view(photo) for photo in photos]
    rgb = merge(views)
    alpha = cleaner.alpha(rgb, photos)
    opaque = np.round(alpha * 255).astype(np.uint8)
    return Identity(
        id,
        label,
        np.dstack([rgb, opaque]),
        mean_shape([view.shape for view in views]),
        embedding,
        consent,
        coverage=skin_coverage(opaque),
        expressions={
            name: Expression(_change(cleaner, rgb, alpha, shown.photos), shown.strength, shown.rest)
            for name, shown in (expressions or {}).items()
        },
        views=len(views),
        seen=seen_share(views),
        portraits=tuple(portrait_of_photo(one.rgb, one.landmarks) for one in photos[:MOST_PORTRAITS]),
    )


def mean_shape(shapes: Sequence[Floats]) -> Floats:
    """The mean of (468, 3) meshes after each has been posed onto it (generalised Procrustes analysis)."""
    rigid = list(RIGID)
    mean = shapes[0].astype(np.float64)
    if len(shapes) > 1:
        for _ in range(_SHAPE_ROUNDS):
            posed = [fit_pose(shape[rigid], mean[rigid])(shape) for shape in shapes]
            mean = np.mean(posed, axis=0)
    return mean.astype(np.float32)


def _change(
    cleaner: PhotoCleaner, neutral: Rgb, alpha: Floats, photos: Sequence[SourcePhoto]
) -> npt.NDArray[np.int8]:
    """(512, 512, 3): what is to be added to a neutral texture to show the expression of the photos."""
    views = [cleaner.view(photo, keep_expression=True) for photo in photos]
    skin = merge(views).astype(np.float32)
    shown = alpha * smoothstep(np.max([view.facing for view in views], axis=0), *_FACING)
    weight = shown[..., None]
    skin += ((neutral - skin) * weight).sum(axis=(0, 1)) / (weight.sum() + np.float32(1e-6))
    change = low_pass(skin - neutral, _FOLD_BLUR)
    change = np.sign(change) * np.maximum(np.abs(change) - np.float32(_NOISE), 0) * weight
    side = (EXPRESSION_SIDE, EXPRESSION_SIDE)
    small = cv2.resize(change, side, interpolation=cv2.INTER_AREA)
    return np.asarray(np.clip(np.round(small), -127, 127), np.int8)


__all__ = ["ExpressionPhotos", "SourcePhoto", "View", "bake_identity", "mean_shape"]
