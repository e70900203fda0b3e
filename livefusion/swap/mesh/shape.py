"""Whose shape the new face has: the source's mesh, posed onto the performer's and mixed into it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import (
    INNER_LIPS,
    LEFT_EYE,
    NOSE_BASE,
    OUTER_EYE_CORNERS,
    OUTER_LIPS,
    OVAL,
    RIGHT_EYE,
    RIGID,
    VERTEX_COUNT,
    Floats,
    canonical_mesh,
)
from livefusion.swap.mesh.facing import facing_weight, head_normals

Doubles = npt.NDArray[np.float64]

# In units of the distance between the outer eye corners: (full stop of the mix, width of its return), from
# the middle of the mouth and from the lids.
_MOUTH_REACH = (0.25, 0.35)
_EYE_REACH = (0.02, 0.12)
_JAW_SHARE, _JAW_REACH = 0.3, 0.1
"""Below the nose shape tells recognisers next to nothing, and moves with every word."""
_OVAL_SHARE = 0.3
"""At the outline most of the performer's shape stays: neck and hair are the performer's."""
_OVAL_REACH = 0.15
# Where `mouth` and `eyes` act, from lips and lids: (fully, width of the return).
_LIPS_REACH = (0.03, 0.12)
_LIDS_REACH = (0.06, 0.08)
_LIP_EDGE = 0.5
"""Weight on the inner edge of the lips: the mouth opens there into the performer's own."""
_INNER_LIPS, _RIGID = list(INNER_LIPS), np.array(RIGID)


@dataclass(frozen=True, slots=True)
class Pose:
    """A similarity in space: ``scale`` · ``rotation`` · (point − ``origin``) + ``to``."""

    scale: float
    rotation: Doubles
    origin: Doubles
    to: Doubles

    def __call__(self, points: npt.NDArray[np.floating]) -> Doubles:
        """Map points of shape (n, 3)."""
        mapped: Doubles = self.scale * (points - self.origin) @ self.rotation.T + self.to
        return mapped


class PoseFit:
    """Finds the similarity that carries (n, 3) points onto others with the least squared error.

    Umeyama, "Least-squares estimation of transformation parameters between two point patterns", PAMI 1991.
    """

    def __init__(self, source: npt.NDArray[np.floating]) -> None:
        self.origin: Doubles = source.mean(axis=0, dtype=np.float64)
        self._centred: Doubles = source - self.origin
        self._spread = float(np.square(self._centred).sum())

    def __call__(self, target: npt.NDArray[np.floating]) -> Pose:
        """The similarity onto ``target``."""
        to = np.add.reduce(target, dtype=np.float64) / len(target)
        # The source is centred, so it does not matter where the target is.
        u, spread, vt = np.linalg.svd(target.T.astype(np.float64) @ self._centred)
        rotation = u @ vt
        largest, middle, least = spread.tolist()
        if _determinant(rotation) < 0:
            u[:, 2] = -u[:, 2]
            rotation, least = u @ vt, -least
        return Pose((largest + middle + least) / self._spread, rotation, self.origin, to)


def fit_pose(source: npt.NDArray[np.floating], target: npt.NDArray[np.floating]) -> Pose:
    """The similarity that carries (n, 3) points onto others with the least squared error."""
    return PoseFit(source)(target)


def _determinant(matrix: Doubles) -> float:
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    return float(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


@cache
def mix_falloff() -> Floats:
    """(468, 1) share of the source's shape that each vertex takes.

    0 on mouth and lids, so that expression and gaze stay the performer's, and little at jaw and outline.
    Brows, nose and what lies between them are the source's: there a face is told from others.
    """
    points = _in_eye_distances()
    from_mouth = np.linalg.norm((points - points[_INNER_LIPS].mean(axis=0))[:, :2], axis=1)
    share = np.clip((from_mouth - _MOUTH_REACH[0]) / _MOUTH_REACH[1], 0, 1)
    for ring in (LEFT_EYE, RIGHT_EYE):
        share = np.minimum(
            share, np.clip((_distance(points[:, :2], ring) - _EYE_REACH[0]) / _EYE_REACH[1], 0, 1)
        )
    below = np.clip((points[:, 1] - points[NOSE_BASE, 1]) / _JAW_REACH, 0, 1)
    share *= 1 - (1 - _JAW_SHARE) * below
    share *= _OVAL_SHARE + (1 - _OVAL_SHARE) * np.clip(_distance(points, OVAL) / _OVAL_REACH, 0, 1)
    return np.asarray(share, np.float32)[:, None]


@cache
def near_mouth() -> Floats:
    """(468,) in [0, 1]: 1 on the lips and softly 0 round them."""
    distance = _distance(_in_eye_distances()[:, :2], (*OUTER_LIPS, *INNER_LIPS))
    return np.asarray(1 - np.clip((distance - _LIPS_REACH[0]) / _LIPS_REACH[1], 0, 1), np.float32)


@cache
def near_eyes() -> Floats:
    """(468,) in [0, 1]: 1 on the lids and softly 0 below the brows."""
    distance = _distance(_in_eye_distances()[:, :2], (*LEFT_EYE, *RIGHT_EYE))
    return np.asarray(1 - np.clip((distance - _LIDS_REACH[0]) / _LIDS_REACH[1], 0, 1), np.float32)


def _in_eye_distances() -> Floats:
    """The canonical vertices in units of the distance between the outer eye corners."""
    points = canonical_mesh().vertices
    return points / np.linalg.norm(points[OUTER_EYE_CORNERS[0]] - points[OUTER_EYE_CORNERS[1]])


def _distance(points: Floats, ring: Sequence[int]) -> Floats:
    """(468,): how far each vertex is from the nearest of a ring."""
    return np.asarray(np.linalg.norm(points[:, None] - points[list(ring)][None], axis=2).min(axis=1))


def vertex_normals(points: npt.NDArray[np.floating]) -> Floats:
    """(468, 3) unit normals of a mesh, towards the outside (smaller z where the face looks at the viewer)."""
    a, b, c = (points[canonical_mesh().triangles[:, corner]].astype(np.float64) for corner in range(3))
    faces = np.cross(b - a, c - a)
    normals = np.zeros((VERTEX_COUNT, 3))
    for corner in range(3):
        np.add.at(normals, canonical_mesh().triangles[:, corner], faces)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
    # The winding order of the file is not ours to trust: a face's normals point out on average.
    if np.sum(normals * (points - points.mean(axis=0))) < 0:
        normals = -normals
    return normals.astype(np.float32)


class SourceShape:
    """The mesh of an identity, ready to be posed onto a performer."""

    def __init__(self, shape: Floats) -> None:
        self._fit = PoseFit(shape[_RIGID])
        self._centred = shape - self._fit.origin
        turn = fit_pose(canonical_mesh().vertices[_RIGID], shape[_RIGID]).rotation
        self._normals = head_normals() @ turn.T.astype(np.float32)

    def onto(
        self, landmarks: Floats, share: float, mouth: float = 1.0, eyes: float = 1.0
    ) -> tuple[Floats, Floats]:
        """The (468, 3) mesh to draw over a performer's (≥468, 3) landmarks, and its vertices' (468,) weights.

        ``share`` in [0, 1] is how much of the source's shape is taken, ``mouth`` and ``eyes`` how much of its
        lips and of its lids. The weight falls to 0 where the face turns away from the viewer, so that no hard
        edge shows at the far side of a turned head.
        """
        performer = landmarks[:VERTEX_COUNT]
        pose = self._fit(performer[_RIGID])
        posed = self._centred @ (pose.scale * pose.rotation.T) + pose.to
        mixed = performer + (posed - performer) * (share * mix_falloff())
        weight = facing_weight(self._normals, pose.rotation[2])
        weight[_INNER_LIPS] *= _LIP_EDGE
        if mouth < 1:
            weight *= 1 - (1 - mouth) * near_mouth()
        if eyes < 1:
            weight *= 1 - (1 - eyes) * near_eyes()
        return mixed.astype(np.float32), weight.astype(np.float32)
