"""Where a face looks and how large it is."""

from collections.abc import Iterator

import numpy as np

from livefusion.core.face import Landmarks
from livefusion.swap.intake.criterion import Criterion, graded
from livefusion.swap.mesh.canonical import RIGID, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.shape import fit_pose

# Width of the face in pixels between the temples: below the first nothing can be made of it.
SMALLEST_FACE, GOOD_FACE = 90.0, 200.0
# Degrees away from the camera: at 40° a third of the face is hidden and would be invented.
TURNED_TOO_FAR, TURNED = 40.0, 25.0
_TILTED = 35.0


def pose_criteria(landmarks: Landmarks) -> Iterator[Criterion]:
    """Pose, tilt and size of a face with (478, 3) ``landmarks``."""
    right, down, roll = _angles(landmarks)
    angle = turned_by(landmarks)
    sideways = abs(right) >= abs(down)
    way = ("right" if right > 0 else "left") if sideways else ("down" if down > 0 else "up")
    yield Criterion(
        "pose",
        graded(angle, (0, 100), (10, 95), (TURNED, 70), (TURNED_TOO_FAR, 30), (60, 0)),
        f"the face is turned away by {angle:.0f}°, to the {way}"
        if sideways
        else f"the face is turned away by {angle:.0f}°, {way}",
        "look straight into the camera, held at the height of the eyes",
        fatal=angle > TURNED_TOO_FAR,
    )
    yield Criterion(
        "tilt",
        graded(abs(roll), (0, 100), (15, 95), (_TILTED, 70), (90, 20)),
        f"the head is tilted by {abs(roll):.0f}°",
        "hold the head upright",
    )
    width = float(np.ptp(landmarks[:VERTEX_COUNT, 0]))
    yield Criterion(
        "size",
        graded(width, (50, 0), (SMALLEST_FACE, 20), (GOOD_FACE, 70), (400, 100)),
        f"the face is only {width:.0f} px wide",
        f"take a photo from nearer, in which it is {GOOD_FACE:.0f} px or wider",
        fatal=width < SMALLEST_FACE,
    )


def turned_by(landmarks: Landmarks) -> float:
    """Angle in degrees between where a face looks and the camera."""
    return float(np.degrees(np.arccos(np.clip(_rotation(landmarks)[2, 2], -1, 1))))


def _angles(landmarks: Landmarks) -> tuple[float, float, float]:
    """Degrees to the right of the picture, down, and clockwise."""
    rotation = _rotation(landmarks)
    x, y, z = -rotation[:, 2]
    right, down = np.degrees(np.arctan2(x, -z)), np.degrees(np.arctan2(y, -z))
    return float(right), float(down), float(np.degrees(np.arctan2(rotation[1, 0], rotation[0, 0])))


def _rotation(landmarks: Landmarks) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rigid = list(RIGID)
    return fit_pose(canonical_mesh().vertices[rigid], landmarks[rigid]).rotation
