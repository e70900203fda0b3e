"""Which points of the 478-point MediaPipe face mesh are what. Left and right are those of the picture."""

import numpy as np

from livefusion.core.alignment import LEFT_EYE_CORNERS, MOUTH_CORNERS, NOSE_TIP, RIGHT_EYE_CORNERS

__all__ = [
    "LEFT_EYE_CORNERS",
    "LEFT_IRIS",
    "MOUTH_CORNERS",
    "NOSE_TIP",
    "OVAL",
    "RIGHT_EYE_CORNERS",
    "RIGHT_IRIS",
    "RIGID",
]

LEFT_IRIS = 468
RIGHT_IRIS = 473

OVAL = np.array(
    [
        *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
        *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
    ]
)
"""The outline of the face, in order, from the top of the forehead."""

RIGID = np.array(
    [
        *(10, 151, 9, 8, 168, 6, 197, 195, 5, 4, 33, 133, 263, 362, 127, 356, 234, 454, 67, 297, 109, 338),
        *(116, 345, 50, 280, 118, 347, 98, 327, 2),
    ]
)
"""Forehead, nose, eye corners, temples and cheek bones: what speech and expression hardly move."""
