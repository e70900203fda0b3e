"""A performer without networks: the canonical mesh itself, posed in pixels."""

from collections.abc import Callable

import numpy as np
import pytest

from livefusion.core.face import FaceTrack, Identity, TrackState
from livefusion.core.geometry import Box
from livefusion.swap.mesh.canonical import canonical_mesh
from livefusion.swap.mesh.mask import face_mask

Pose = Callable[..., np.ndarray]


def _posed(
    height: float = 170.0, centre: tuple[float, float] = (160.0, 120.0), yaw: float = 0.0
) -> np.ndarray:
    points = canonical_mesh().vertices.astype(np.float64)
    points = (points - points.mean(axis=0)) * height / np.ptp(points[:, 1])
    angle = np.radians(yaw)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    points = points @ turn.T + (*centre, 0)
    return np.concatenate([points, points[:10]]).astype(np.float32)


@pytest.fixture(scope="session")
def posed() -> Pose:
    """(478, 3) landmarks of a face of that height in pixels, its centre there, turned by ``yaw`` degrees."""
    return _posed


@pytest.fixture(scope="session")
def identity() -> Identity:
    """A grey face with the canonical shape."""
    texture = np.full((1024, 1024, 4), 150, np.uint8)
    texture[..., 3] = np.round(face_mask() * 255)
    return Identity("grey", "Grey", texture, canonical_mesh().vertices.copy())


@pytest.fixture(scope="session")
def tracked() -> Callable[[np.ndarray], FaceTrack]:
    """A track of a face with these landmarks."""
    return lambda landmarks: FaceTrack(1, TrackState.SEEN, Box.around(landmarks), landmarks)
