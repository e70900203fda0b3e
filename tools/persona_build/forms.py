"""Shapes of personas: the mean of some faces, moved along the principal components of all.

Round mouth and eyes all have the shape of the mean, so expressions of the contributors do not count as shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import (
    INNER_LIPS,
    LEFT_EYE,
    OUTER_EYE_CORNERS,
    OVAL,
    RIGHT_EYE,
    RIGID,
    VERTEX_COUNT,
    Floats,
    canonical_mesh,
)
from livefusion.swap.mesh.identity import mean_shape
from livefusion.swap.mesh.shape import fit_pose

_COMPONENTS = 6
# In units of the distance between the outer eye corners, from the middle of mouth and eyes: (nothing varies,
# width of the return). The outline varies little: it is where landmarks are least sure.
_MOUTH_REACH = (0.25, 0.35)
_EYE_REACH = (0.10, 0.20)
_OVAL_SHARE, _OVAL_REACH = 0.3, 0.15
_RIGID = list(RIGID)


class ShapeSpace:
    """The symmetric shapes of all contributors, posed onto their mean, and how they vary."""

    def __init__(self, shapes: Sequence[Floats]) -> None:
        mean = mean_shape([_symmetric(shape) for shape in shapes])
        self._shapes = np.stack([_posed(_symmetric(shape), mean) for shape in shapes])
        self._mean = self._shapes.mean(axis=0)
        self._falloff = _varying()
        varying = ((self._shapes - self._mean) * self._falloff).reshape(len(shapes), -1)
        _, values, axes = np.linalg.svd(varying, full_matrices=False)
        deviations = values[:_COMPONENTS] / np.sqrt(max(1, len(shapes) - 1))
        axes = axes[:_COMPONENTS]
        # The sign of an axis is the library's whim; here the largest element of each is positive.
        peaks = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
        self._axes = (axes * np.sign(peaks) * deviations[:, None]).reshape(-1, VERTEX_COUNT, 3)

    def form(
        self, members: Sequence[int], shares: Sequence[float], away: float, moved: Sequence[float]
    ) -> Floats:
        """The (468, 3) shape of some of the faces, by number and share.

        Their difference from the mean of all is multiplied by ``away``, then the shape is moved along the
        first components by ``moved`` standard deviations.
        """
        weights = np.asarray(shares)[:, None, None] / np.sum(shares)
        group = (self._shapes[list(members)] * weights).sum(axis=0)
        shape = group + (group - self._mean) * self._falloff * (away - 1)
        steps = np.asarray(moved)[:, None, None] * self._axes[: len(moved)]
        return np.asarray(shape + steps.sum(axis=0), np.float32)


def _varying() -> Floats:
    """(468, 1) in [0, 1]: how much of their differences the vertices keep."""
    points = canonical_mesh().vertices
    points = points / np.linalg.norm(points[OUTER_EYE_CORNERS[0]] - points[OUTER_EYE_CORNERS[1]])
    share = np.ones(VERTEX_COUNT)
    for ring, (still, width) in ((INNER_LIPS, _MOUTH_REACH), (LEFT_EYE, _EYE_REACH), (RIGHT_EYE, _EYE_REACH)):
        distance = np.linalg.norm((points - points[list(ring)].mean(axis=0))[:, :2], axis=1)
        share = np.minimum(share, np.clip((distance - still) / width, 0, 1))
    distance = np.linalg.norm(points[:, None] - points[list(OVAL)], axis=2).min(axis=1)
    share *= _OVAL_SHARE + (1 - _OVAL_SHARE) * np.clip(distance / _OVAL_REACH, 0, 1)
    return np.asarray(share / share.max(), np.float32)[:, None]


def _posed(shape: Floats, mean: Floats) -> npt.NDArray[np.float64]:
    return fit_pose(shape[_RIGID], mean[_RIGID])(shape)


def _symmetric(shape: Floats) -> Floats:
    """Mean of a shape and its mirror image, a vertex paired with the one across the canonical face."""
    mirrored = shape[_mirror_vertices()] * np.array([-1, 1, 1], np.float32)
    return mean_shape([shape, mirrored])


def _mirror_vertices() -> npt.NDArray[np.intp]:
    points = canonical_mesh().vertices
    flipped = points * np.array([-1, 1, 1], np.float32)
    return np.asarray(np.linalg.norm(flipped[:, None] - points[None], axis=2).argmin(axis=1), np.intp)
