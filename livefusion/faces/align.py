"""The similarity that carries a face onto a template of five points."""

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.geometry import Affine
from livefusion.faces.points import (
    LEFT_EYE_CORNERS,
    MOUTH_CORNERS,
    NOSE_TIP,
    RIGHT_EYE_CORNERS,
)

ARCFACE_112 = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
"""(5, 2) template of ArcFace and SFace in a 112×112 crop: eyes, nose tip, mouth corners, left to right."""


def five_points(landmarks: Landmarks) -> npt.NDArray[np.float64]:
    """(5, 2) alignment points of a mesh: eye middles, nose tip, mouth corners, left to right in the picture.

    Taken from the mesh because the detector's own five are visibly off on rolled faces.
    """
    points = landmarks[:, :2].astype(np.float64)
    eyes = [points[list(corners)].mean(axis=0) for corners in (LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS)]
    return np.array([*eyes, points[NOSE_TIP], *points[list(MOUTH_CORNERS)]])


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


def align_face(landmarks: Landmarks) -> Affine:
    """The map from frame pixels to the 112×112 crop that recognisers are trained on."""
    return similarity_onto(five_points(landmarks), ARCFACE_112)
