"""Five points of a face, and the similarity that carries them onto a template of a network."""

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceTrack, Landmarks
from livefusion.core.geometry import Affine

LEFT_EYE_CORNERS = (33, 133)
"""Outer and inner corner of the performer's right eye, which a picture shows on its left."""
RIGHT_EYE_CORNERS = (263, 362)
"""Outer and inner corner of the performer's left eye."""
NOSE_TIP = 4
MOUTH_CORNERS = (61, 291)
"""Left and right corner in the picture."""

_POINTS = np.array([*LEFT_EYE_CORNERS, *RIGHT_EYE_CORNERS, NOSE_TIP, *MOUTH_CORNERS])
_MEANS = np.zeros((5, 7))
"""Which share of each of these an alignment point is: the eyes lie between their corners."""
_MEANS[0, :2] = _MEANS[1, 2:4] = 0.5
_MEANS[[2, 3, 4], [4, 5, 6]] = 1.0


def five_points(landmarks: Landmarks) -> npt.NDArray[np.float64]:
    """(5, 2) alignment points of a mesh: eye middles, nose tip, mouth corners, left to right in the picture.

    Taken from the mesh because the detector's own five are visibly off on rolled faces.
    """
    five: npt.NDArray[np.float64] = _MEANS @ landmarks[_POINTS, :2]
    return five


def points_of(track: FaceTrack) -> npt.NDArray[np.float64]:
    """(5, 2) alignment points of a track that has landmarks: a network's if there is one, else the mesh's."""
    if track.points is not None:
        return track.points
    assert track.landmarks is not None, "only tracks with landmarks are aligned"
    return five_points(track.landmarks)


def similarity_onto(source: npt.NDArray[np.floating], target: npt.NDArray[np.floating]) -> Affine:
    """The least-squares similarity from (n, 2) points onto others (Umeyama, PAMI 1991, closed form in 2-D).

    ``ValueError`` if the source points coincide.
    """
    source_mean = np.add.reduce(source, dtype=np.float64) / len(source)
    target_mean = np.add.reduce(target, dtype=np.float64) / len(target)
    a, b = source - source_mean, target - target_mean
    spread = float(np.vdot(a, a))
    if spread < 1e-12:
        raise ValueError("a similarity needs at least two different points")
    cos = float(np.vdot(a, b)) / spread
    sin = float(np.vdot(a[:, 0], b[:, 1]) - np.vdot(a[:, 1], b[:, 0])) / spread
    (x, y), (u, v) = source_mean.tolist(), target_mean.tolist()
    return Affine([[cos, -sin, u - (cos * x - sin * y)], [sin, cos, v - (sin * x + cos * y)]])
