"""The roster alone: what the detector sees of two faces of which one hides the other."""

import io

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.face import FaceObservation, TrackState
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import FaceSettings
from livefusion.faces.judge import Judge
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.pose import PoseEstimator
from livefusion.faces.roster import Roster
from livefusion.faces.sight import own_overlaps
from livefusion.inference.registry import ModelRegistry

pytestmark = pytest.mark.unit

SIZE = Size(320, 240)
FRONT = FaceObservation(Box(157, 40, 86, 110), 0.92)
BEHIND = FaceObservation(Box(76, 53, 83, 94), 0.88)


def mesh_in(box: Box) -> FaceMesh:
    """A frontal face that fills a box."""
    with np.load(io.BytesIO(ModelRegistry.load()["canonical_mesh"].read())) as arrays:
        points: npt.NDArray[np.float32] = arrays["vertices"] * np.float32([1, -1, -1])
    low, high = points.min(axis=0), points.max(axis=0)
    unit = (points - low) / (high - low)
    unit = np.concatenate([unit, np.repeat(unit[[33]], 10, axis=0)])
    landmarks = unit * np.float32([box.width, box.height, box.width]) + np.float32([box.x, box.y, 0])
    return FaceMesh(landmarks.astype(np.float32), 1.0)


def roster_with(box: Box) -> Roster:
    """A roster that knows one face."""
    settings = FaceSettings()
    roster = Roster(settings, Judge(settings.presence, PoseEstimator.from_registry()))
    roster.predict()
    (candidate,) = roster.explain((FaceObservation(box, 0.9),), 0, current=True)
    roster.place(candidate, mesh_in(box), True, SIZE)
    roster.settle(0, 0.0)
    return roster


@pytest.mark.parametrize("others", [(), (FRONT,)])
def test_a_mesh_that_lies_over_two_faces_leaves_none_bare(others: tuple[FaceObservation, ...]) -> None:
    stretched = Box(81, 56, 107, 96)
    assert 0.45 < stretched.iou(BEHIND.box) < 0.65
    roster = roster_with(Box(85, 56, 103, 96))
    roster.predict()
    roster.take(roster.looked_for(), [mesh_in(stretched)], SIZE)
    for candidate in roster.explain((BEHIND, *others), 1, current=True):
        roster.place(candidate, None, False, SIZE)
    roster.settle(1, 0.04)
    doubtful = [face.box for face in roster.faces if face.state is TrackState.DOUBTFUL]
    covered = [BEHIND.box, FRONT.box] if others else []
    assert sorted(doubtful, key=lambda box: box.x) == covered


@pytest.mark.parametrize(
    ("seen", "least"),
    [((), []), ((FRONT,), [0.45]), ((FRONT, BEHIND), [0.65, 0.65])],
)
def test_a_mesh_fits_more_closely_where_faces_touch(
    seen: tuple[FaceObservation, ...], least: list[float]
) -> None:
    assert own_overlaps(seen) == least
