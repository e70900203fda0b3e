"""The similarity that carries a face onto a template of five points."""

import numpy as np

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.face import Landmarks
from livefusion.core.geometry import Affine

__all__ = ["ARCFACE_112", "align_face", "five_points", "similarity_onto"]

ARCFACE_112 = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
"""(5, 2) template of ArcFace and SFace in a 112×112 crop: eyes, nose tip, mouth corners, left to right."""


def align_face(landmarks: Landmarks) -> Affine:
    """The map from frame pixels to the 112×112 crop that recognisers are trained on."""
    return similarity_onto(five_points(landmarks), ARCFACE_112)
