"""The upright square round a face that the occlusion network looks at."""

import math

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine, Box

# Of MediaPipe's face mesh: outer corners of the person's right and left eye; irises follow the mesh itself.
_OUTER_EYE_CORNERS, _MESH_POINTS = (33, 263), 468
_GROWN = 1.2
# A face of less than a pixel has no size to scale by.
_LEAST_SIDE = 1.0


def crop_of(landmarks: npt.NDArray[np.float32], side: int, grown: float = _GROWN) -> Affine:
    """The map from frame pixels to a crop of ``side`` × ``side`` pixels in which the eyes are level.

    ``landmarks`` is (≥468, 3) float32 in frame pixels. The crop is the square with the centre of the box
    round the turned mesh and ``grown`` times its larger side; irises (from 468 on) are not asked.
    """
    points = landmarks[:_MESH_POINTS, :2].astype(np.float64)
    (x0, y0), (x1, y1) = points[list(_OUTER_EYE_CORNERS)].tolist()
    angle = -math.atan2(y1 - y0, x1 - x0)
    level = Affine.similarity(1.0, angle, (0.0, 0.0), (0.0, 0.0))
    box = Box.around(level(points))
    scale = side / (grown * max(box.width, box.height, _LEAST_SIDE))
    middle = (side - 1) / 2
    centre = level.inverse()(np.array([box.centre]))[0]
    return Affine.similarity(scale, angle, (float(centre[0]), float(centre[1])), (middle, middle))
