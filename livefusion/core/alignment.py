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


def five_points(landmarks: Landmarks) -> npt.NDArray[np.float64]:
    """(5, 2) alignment points of a mesh: eye middles, nose tip, mouth corners, left to right in the picture.

    Taken from the mesh because the detector's own five are visibly off on rolled faces.
    """
    points = landmarks[_POINTS, :2].astype(np.float64)
    return np.array([(points[0] + points[1]) / 2, (points[2] + points[3]) / 2, *points[4:]])


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
    source_mean, target_mean = source.mean(axis=0), target.mean(axis=0)
    a, b = source - source_mean, target - target_mean
    spread = float((a * a).sum())
    if spread < 1e-12:
        raise ValueError("a similarity needs at least two different points")
    cos = float((a * b).sum()) / spread
    sin = float((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()) / spread
    linear = np.array([[cos, -sin], [sin, cos]])
    return Affine(np.column_stack([linear, target_mean - linear @ source_mean]))
