"""One face as the tracker follows it: what was last known of it, and how it is doubted."""

from collections import deque
from functools import reduce

from livefusion.core.face import FaceObservation, FaceTrack, Landmarks, TrackState
from livefusion.core.geometry import Box, Size
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.roi import Roi
from livefusion.faces.smooth import OneEuroFilter
from livefusion.faces.track import SortTrack

# A face that was lost may have gone any way: what is covered grows by so much a frame, up to this.
_GROWTH = 0.05
_MOST_GROWTH = 1.6
# The motion of a face that is no longer measured is a guess; it is not followed further than so many face
# sizes from where the face was last seen. Whoever turns up elsewhere is found by the detector in that frame.
_FURTHEST = 1.5
# Before a face is lost behind another one, its mesh is dragged onto that one for up to so many frames: where
# it was before that, a cheek of it may still be seen.
_TRAIL = 20
# The speed of a face that was seen in fewer frames than that is believed in proportion.
_SPEED_KNOWN = 15


class Face:
    """Mutable, and known to the roster alone; ``track`` is what the others see."""

    def __init__(self, sort: SortTrack, smoother: OneEuroFilter, box: Box) -> None:
        self.sort = sort
        self.smoother = smoother
        self.box = box
        """Where it was last seen."""
        self.state = TrackState.DOUBTFUL
        self.mesh: FaceMesh | None = None
        """As measured last; None if it never was."""
        self.landmarks: Landmarks | None = None
        """As smoothed in this frame; None if there are none to be trusted."""
        self.detection: FaceObservation | None = None
        """What the detector last saw of it."""
        self.unsure = False
        """Neither network was ever sure that it is a face."""
        self.rejected = False
        """The landmark network sees no face in what the detector saw."""
        self.orphan = False
        """It belongs to a scene that may have ended."""
        self.absent = False
        """A search of a later picture than the last in which it was seen did not find it."""
        self.sights = 0
        """Frames in which it was seen."""
        self.apart = False
        """It was once seen beside another face, so it is a face of its own."""
        self.seen_seq = -1
        self.looks_left_out = -1
        self._trail: deque[Box] = deque([box], maxlen=_TRAIL)

    @property
    def id(self) -> int:
        """Number of the track."""
        return self.sort.id

    @property
    def expected(self) -> Box:
        """Where the motion model puts it in this frame."""
        left, top, right, bottom = (float(value) for value in self.sort.corners)
        moved = Box(left, top, right - left, bottom - top)
        if self.state is not TrackState.PREDICTED:
            return moved
        (x, y), (was_x, was_y) = moved.centre, self.box.centre
        reach = _FURTHEST * min(1.0, self.sights / _SPEED_KNOWN)
        reach_x, reach_y = reach * self.box.width, reach * self.box.height
        shift_x, shift_y = min(max(x - was_x, -reach_x), reach_x), min(max(y - was_y, -reach_y), reach_y)
        return Box(self.box.x + shift_x, self.box.y + shift_y, self.box.width, self.box.height)

    @property
    def roi(self) -> Roi:
        """Where to look for its landmarks."""
        last = Roi.round(self.box, 0.0) if self.mesh is None else Roi.of_landmarks(self.mesh.landmarks)
        if self.state is not TrackState.SEEN:
            return Roi.round(self.expected, last.angle)
        (x, y), (was_x, was_y) = self.expected.centre, self.box.centre
        return last.moved((x - was_x, y - was_y))

    def see(self, seq: int, box: Box, mesh: FaceMesh | None, state: TrackState) -> None:
        """Take note of a sight of it."""
        self.seen_seq, self.box, self.state = seq, box, state
        self._trail.append(box)
        self.absent = self.orphan = False
        self.sights += 1
        self.mesh = mesh or self.mesh
        self.landmarks = None if mesh is None else mesh.landmarks

    def forget_trail(self) -> None:
        """Where it was before does not tell where it is now."""
        self._trail = deque([self.box], maxlen=_TRAIL)

    def miss(self) -> None:
        """It was not seen in this frame."""
        self.state = TrackState.PREDICTED
        self.landmarks = None
        self.smoother.reset()

    def covered(self, size: Size) -> Box:
        """The box that surely holds it: the one seen, or where it was lately and is expected, grown."""
        if self.state is TrackState.SEEN:
            return self.box
        factor = min(1.0 + _GROWTH * self.sort.misses, _MOST_GROWTH)
        places = self._trail if self.state is TrackState.PREDICTED else (self.box,)
        grown = reduce(hull, places, self.expected).grown(factor)
        return grown if grown.clipped(size).area > 0 else self.box

    def track(self, size: Size, person: int | None) -> FaceTrack:
        """The immutable view of it in this frame."""
        return FaceTrack(
            id=self.id,
            state=self.state,
            box=self.covered(size),
            landmarks=self.landmarks,
            velocity=self.sort.filter.velocity,
            age=self.sort.age,
            misses=self.sort.misses,
            quality=0.0 if self.mesh is None else self.mesh.presence,
            person=person,
        )


def hull(first: Box, second: Box) -> Box:
    """The smallest box that holds both."""
    left, top = min(first.x, second.x), min(first.y, second.y)
    right, bottom = max(first.right, second.right), max(first.bottom, second.bottom)
    return Box(left, top, right - left, bottom - top)
