"""Which way a head looks: the canonical face fitted to the landmarks."""

import io
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.archive import read_arrays
from livefusion.core.face import Landmarks
from livefusion.faces.points import RIGID
from livefusion.inference.registry import ModelRegistry


@dataclass(frozen=True, slots=True)
class HeadPose:
    """Degrees: ``yaw`` > 0 looks to the right of the picture, ``pitch`` > 0 up, ``roll`` > 0 is clockwise."""

    yaw: float
    pitch: float
    roll: float


class PoseEstimator:
    """Fits the rigid points of the canonical face by orthographic Procrustes (Kabsch, 1976)."""

    def __init__(self, vertices: npt.NDArray[np.floating]) -> None:
        """``vertices``: (468, 3), x right, y down, smaller z nearer."""
        rigid = vertices[RIGID].astype(np.float64)
        self._model = rigid - rigid.mean(axis=0)

    @staticmethod
    def from_registry(registry: ModelRegistry | None = None) -> "PoseEstimator":
        """With the canonical mesh that ships. ``ModelError`` if it is missing or damaged."""
        content = (registry or ModelRegistry.load())["canonical_mesh"].read()
        # The file has y up and z towards the camera.
        return PoseEstimator(read_arrays(io.BytesIO(content))["vertices"] * [1, -1, -1])

    def __call__(self, landmarks: Landmarks) -> HeadPose:
        """The pose of (478, 3) landmarks."""
        # The model is centred, so it does not matter where the points are.
        return angles_of(nearest_rotation(landmarks[RIGID].astype(np.float64).T @ self._model))


def nearest_rotation(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The (3, 3) rotation that a (3, 3) correlation of two point sets is nearest to (Kabsch, 1976)."""
    left, _, right = np.linalg.svd(matrix)
    if _is_mirrored(left @ right):
        left[:, 2] = -left[:, 2]
    rotation: npt.NDArray[np.float64] = left @ right
    return rotation


def _is_mirrored(matrix: npt.NDArray[np.float64]) -> bool:
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    return bool(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0)


def angles_of(rotation: npt.NDArray[np.float64]) -> HeadPose:
    """The pose of a (3, 3) rotation from the canonical face to the picture, applied pitch, yaw, roll."""
    yaw = math.asin(max(-1.0, min(1.0, float(rotation[2, 0]))))
    pitch = -math.atan2(rotation[2, 1], rotation[2, 2])
    roll = math.atan2(rotation[1, 0], rotation[0, 0])
    return HeadPose(math.degrees(yaw), math.degrees(pitch), math.degrees(roll))
