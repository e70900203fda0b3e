"""What is true of a drawn face: for tests and evaluation, never for the picture's path."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.geometry import Box
from livefusion.media.sources.performer_motion import HeadPose


@dataclass(frozen=True, slots=True, eq=False)
class OccluderTruth:
    """``alpha`` (h, w) uint8 of what is in front of everything, its top left pixel at (``x``, ``y``)."""

    x: int
    y: int
    alpha: npt.NDArray[np.uint8]

    def hides(self, points: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
        """Which of the points (n, ≥2) in picture pixels lie behind it."""
        return covered(self.alpha, points[:, :2] - [self.x, self.y])


@dataclass(frozen=True, slots=True, eq=False)
class FaceTruth:
    """One face in one frame.

    ``landmarks`` are (478, 3) in picture pixels, ``box`` is round the first 468 of them, ``pose`` is relative
    to the photo, ``person`` the number of the person. ``hidden`` (478,) tells which landmarks lie behind the
    occluder or behind another person.
    """

    person: int
    landmarks: Landmarks
    box: Box
    pose: HeadPose
    hidden: npt.NDArray[np.bool_]
    occluder: OccluderTruth | None = None

    @property
    def eye_distance(self) -> float:
        """Pixels between the outer corners of the eyes, in the picture."""
        return float(np.hypot(*(self.landmarks[33, :2] - self.landmarks[263, :2])))


def covered(alpha: npt.NDArray[np.uint8], points: npt.NDArray[np.floating]) -> npt.NDArray[np.bool_]:
    """Which of the points (n, 2), in pixels of a mask, it covers by more than a half."""
    at = np.rint(points).astype(int)
    inside = ((at >= 0) & (at < [alpha.shape[1], alpha.shape[0]])).all(axis=1)
    found = np.zeros(len(points), np.bool_)
    found[inside] = alpha[at[inside, 1], at[inside, 0]] > 127
    return found
