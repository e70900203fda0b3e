"""The rolled square around a face that the landmark network looks at."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation, Landmarks
from livefusion.core.geometry import Affine, Box
from livefusion.faces.points import LEFT_EYE_CORNERS, RIGHT_EYE_CORNERS

# MediaPipe's margin (face_landmark_front): the square is 1.5 times the longer side of the face.
_MARGIN = 1.5
_MESH_POINTS = 468


@dataclass(frozen=True, slots=True)
class Roi:
    """A square of side ``side`` pixels round ``centre``, rolled by ``angle`` radians from x towards y."""

    centre: tuple[float, float]
    side: float
    angle: float

    def to_crop(self, size: int) -> Affine:
        """The map from frame pixels to the pixels of an upright ``size``×``size`` crop."""
        middle = (size - 1) / 2
        return Affine.similarity(size / self.side, -self.angle, self.centre, (middle, middle))

    def from_crop(self, size: int) -> Affine:
        """The inverse of ``to_crop``, without solving for it."""
        middle = (size - 1) / 2
        return Affine.similarity(self.side / size, self.angle, (middle, middle), self.centre)

    def turned(self, angle: float) -> "Roi":
        """The same square with another roll."""
        return Roi(self.centre, self.side, angle)

    def moved(self, shift: tuple[float, float]) -> "Roi":
        """The same square elsewhere."""
        return Roi((self.centre[0] + shift[0], self.centre[1] + shift[1]), self.side, self.angle)

    def roll_from(self, other: "Roi") -> float:
        """How far the roll is from another's, in [0, π] radians."""
        return abs(math.remainder(self.angle - other.angle, 2 * math.pi))

    @staticmethod
    def of_detection(seen: FaceObservation) -> "Roi":
        """Where to look first: round the detected box, rolled as the line between the detected eyes."""
        angle = 0.0 if seen.keypoints is None else _angle(seen.keypoints[0], seen.keypoints[1])
        return Roi.round(seen.box, angle)

    @staticmethod
    def round(box: Box, angle: float) -> "Roi":
        """Where to look for a face that fills ``box`` and is rolled by ``angle``."""
        return Roi(box.centre, _MARGIN * max(box.width, box.height), angle)

    @staticmethod
    def of_landmarks(landmarks: Landmarks) -> "Roi":
        """Where to look next: round the (478, 3) landmarks found before, rolled as their eyes."""
        columns = landmarks[:_MESH_POINTS, :2].T.astype(np.float64, order="C")
        angle = _angle(columns[:, LEFT_EYE_CORNERS[0]], columns[:, RIGHT_EYE_CORNERS[0]])
        cos, sin = math.cos(angle), math.sin(angle)
        upright = np.array([[cos, sin], [-sin, cos]]) @ columns
        left, top = np.minimum.reduce(upright, axis=1).tolist()
        right, bottom = np.maximum.reduce(upright, axis=1).tolist()
        x, y = (left + right) / 2, (top + bottom) / 2
        # A network that failed gives one point, and nobody can look into a square without a side.
        side = _MARGIN * max(1.0, right - left, bottom - top)
        return Roi((cos * x - sin * y, sin * x + cos * y), side, angle)


def _angle(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> float:
    return math.atan2(float(second[1] - first[1]), float(second[0] - first[0]))
