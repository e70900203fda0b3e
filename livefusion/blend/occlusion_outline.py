"""Where in a crop the performer's face lies: what an occlusion network says beyond it means nothing."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Affine

_MESH_POINTS = 468
_INNER = 0.96
"""Share of the face: where it meets the background, the network may take that for something before it."""


def outline_of(landmarks: npt.NDArray[np.float32], to_crop: Affine, side: int) -> npt.NDArray[np.uint8]:
    """(side, 3) uint8 for ``occlusion_track``: for each row of the crop, the nearest one that meets the face,
    and the first and the last column of the face in it.

    ``landmarks`` is (≥468, 3) float32 in frame pixels; the face is what lies within the convex outline of its
    mesh, a little drawn in.
    """
    points = to_crop(landmarks[:_MESH_POINTS, :2])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = (low + high) / 2
    corners = cv2.convexHull((middle + (points - middle) * _INNER).astype(np.float32))
    face = np.zeros((side, side), np.uint8)
    cv2.fillConvexPoly(face, np.rint(corners).astype(np.int32), 1)
    first, last = face.argmax(axis=1), side - 1 - face[:, ::-1].argmax(axis=1)
    met = np.flatnonzero(face.any(axis=1))
    if not met.size:  # no face is in the crop: all is looked at where it is
        rows = np.arange(side)
        return np.column_stack([rows, np.zeros(side), np.full(side, side - 1)]).astype(np.uint8)
    rows = np.clip(np.arange(side), met[0], met[-1])
    return np.column_stack([rows, first[rows], last[rows]]).astype(np.uint8)
