"""Is what the landmark network gave a face that can be swapped, a doubtful one, or none?"""

from dataclasses import dataclass

from livefusion.core.face import FaceObservation, TrackState
from livefusion.core.geometry import Box, Size
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.pose import PoseEstimator

NO_FACE = 0.1
"""Presence below which the network sees no face at all; real faces of 48 px or more score 0.95 and up."""
# The network is blind to faces of 20 px (presence 0.002 where the detector has 0.82), and false boxes of the
# detector score less than 0.8 (0.74): only a large, weak box without presence is taken for no face.
_SURE_DETECTION = 0.8
_SMALL_FACE = 32.0
# A hand before a print of a skull scored up to 0.59 by the mesh and 0.74 by the detector, three frames in 45.
_SURE_PRESENCE = 0.9
# A head that turns away scores 1 up to 42 degrees and 0.02 from 48 on; coming back it scored 0.76, 0.06 and
# 0.94 in four frames, and so flashed between swapped and covered.
_REGAINED = 0.7

# A mesh further than that from where its face was expected has jumped onto something else.
_LEAST_OVERLAP = 0.4
_LEAST_VISIBLE = 0.35
_LEAST_WIDTH = 16.0
_MOST_GROWTH = 2.5
_MOST_YAW = 75.0
_MOST_PITCH = 65.0


@dataclass(frozen=True, slots=True)
class Judge:
    """The gates between a mesh and a swap; ``presence`` is the score from which a mesh is trusted."""

    presence: float
    pose: PoseEstimator

    def known_face(self, mesh: FaceMesh, box: Box, expected: Box, size: Size) -> TrackState:
        """What a mesh, which fills ``box``, says of a face that was expected at a place."""
        if mesh.presence < NO_FACE or box.iou(expected) < _LEAST_OVERLAP:
            return TrackState.PREDICTED
        growth = box.area / expected.area if expected.area > 0 else 0.0
        if not 1 / _MOST_GROWTH < growth < _MOST_GROWTH:
            return TrackState.DOUBTFUL
        return self.new_face(mesh, box, size)

    def new_face(self, mesh: FaceMesh, box: Box, size: Size) -> TrackState:
        """What a mesh, which fills ``box``, says of a face where none was known; never ``PREDICTED``."""
        visible = box.clipped(size).area / box.area if box.area > 0 else 0.0
        if mesh.presence < self.presence or visible < _LEAST_VISIBLE or box.width < _LEAST_WIDTH:
            return TrackState.DOUBTFUL
        pose = self.pose(mesh.landmarks)
        if abs(pose.yaw) > _MOST_YAW or abs(pose.pitch) > _MOST_PITCH:
            return TrackState.DOUBTFUL
        return TrackState.SEEN

    def regained(self, state: TrackState, mesh: FaceMesh) -> TrackState:
        """What becomes of a state where the face was not seen in the frame before: it must be surer than one
        that goes on being seen, or it would flash at the end of what the network can see."""
        least = self.presence + _REGAINED * (1 - self.presence)
        return TrackState.DOUBTFUL if state is TrackState.SEEN and mesh.presence < least else state

    def first_sight(self, seen: FaceObservation, mesh: FaceMesh, box: Box, size: Size) -> TrackState:
        """As ``new_face``, of something that never was a face so far.

        What the detector is not sure of must be a face beyond doubt, or nothing is drawn on it but a cover.
        """
        state = self.new_face(mesh, box, size)
        weak = is_weak_box(seen) and mesh.presence < _SURE_PRESENCE
        return TrackState.DOUBTFUL if weak else state


def is_weak_box(seen: FaceObservation) -> bool:
    """Whether the detector is unsure of a face that is large enough for the landmark network to see."""
    return seen.score < _SURE_DETECTION and max(seen.box.width, seen.box.height) >= _SMALL_FACE


def is_false_box(seen: FaceObservation, mesh: FaceMesh) -> bool:
    """Whether the presence score rejects what the detector saw."""
    return mesh.presence < NO_FACE and is_weak_box(seen)
