"""The faces that are followed: where they are looked for, what becomes of what was found, and who dies.

The rule behind it: a face once known stays covered until a search of a whole later picture says it is gone.
"""

from collections.abc import Sequence
from dataclasses import replace

from livefusion.core.face import FaceObservation, TrackState
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import FaceSettings
from livefusion.faces.associate import associate
from livefusion.faces.boxes import corners_of
from livefusion.faces.face import Face
from livefusion.faces.judge import Judge, is_false_box, is_weak_box
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.sight import OWN, Candidate, Sight, clash, is_duplicate, note_apart, own_overlaps
from livefusion.faces.smooth import OneEuroFilter, OneEuroParameters
from livefusion.faces.track import Sort, SortTrack

# Faces that move as they did overlap their expected place by 0.85 and more; a mesh that was stretched over
# two people who passed each other, by 0.5.
_WHERE_EXPECTED = 0.6
# The roster decides who dies, so the tracker's own limit is never reached.
_FOREVER = 1 << 30
_LEAST_OVERLAP = 0.25
# What was seen frames ago, or where no mesh is, may have moved.
_EXPLAINED = 0.15
_MOVED = 0.25
# A face that the network cannot see costs 5 ms a look and is covered anyway: one look in three frames.
_LOOKS_LEFT_OUT = 2
_REJECTED_FRAMES = 10
# What neither network was ever sure of is covered for so many frames after it was seen last, if searches of
# later pictures find nothing; known faces for as long as the settings say.
_UNSURE_FRAMES = 6


class Roster:
    """Belongs to the frames' thread. ``lost`` are numbers of tracks that died in the last frame."""

    def __init__(self, settings: FaceSettings, judge: Judge) -> None:
        self.settings = settings
        self.judge = judge
        self.faces: list[Face] = []
        self.lost: list[int] = []
        self.doubted: list[int] = []
        """Tracks that may have become somebody else in the last frame."""
        self.born = 0
        self._sort = Sort(_FOREVER, 0, _LEAST_OVERLAP)
        self._sights: list[Sight] = []
        self._seen: tuple[FaceObservation, ...] = ()

    @property
    def known(self) -> list[Box]:
        """The boxes that need no closer look by the detector."""
        return [face.box for face in self.faces]

    @property
    def calm(self) -> bool:
        """Whether there are faces and each of them has been seen in the last frame."""
        return bool(self.faces) and all(face.state is TrackState.SEEN for face in self.faces)

    @property
    def missing(self) -> bool:
        """Whether a face with landmarks has not been found again in this frame so far."""
        found = {id(sight.face) for sight in self._sights if sight.state is TrackState.SEEN}
        return any(id(face) not in found for face in self.faces if face.mesh is not None)

    @property
    def astray(self) -> bool:
        """Whether a face was found far from where it was expected: it may be two that are taken for one."""
        return any(
            sight.face is not None and sight.box.iou(sight.face.expected) < _WHERE_EXPECTED
            for sight in self._sights
        )

    @property
    def finds_any(self) -> bool:
        """Whether any face has been found in this frame so far."""
        return any(sight.state is TrackState.SEEN for sight in self._sights)

    def adopt(self, settings: FaceSettings) -> None:
        """Go on with other settings."""
        self.settings = settings
        self.judge = replace(self.judge, presence=settings.presence)
        for face in self.faces:
            face.smoother.parameters = OneEuroParameters.of_smoothing(settings.smoothing)

    def resume(self, boxes: Sequence[Box]) -> None:
        """Take up faces that another roster followed: covered until they are found or vouched to be gone."""
        born = self.born
        self._sights = [Sight(None, box, TrackState.DOUBTFUL) for box in boxes]
        self.settle(-1, 0.0)
        self.born = born

    def clear(self) -> None:
        """Forget every face."""
        self.faces.clear()
        self._sights.clear()
        self._sort.clear()

    def jump(self, seq: int) -> None:
        """Frame ``seq`` may begin another scene: what is not found in it again is gone."""
        for face in self.faces:
            face.smoother.reset()
            face.orphan, face.absent = True, False
            face.forget_trail()
            face.seen_seq = max(face.seen_seq, seq - 1)
        self.doubted += [face.id for face in self.faces]

    def predict(self) -> None:
        """Begin a frame: move every face on."""
        self.lost, self.doubted = [], []
        self._sights, self._seen = [], ()
        self._sort.predict()
        alive = set(self._sort.tracks)
        for face in self.faces:
            if face.sort not in alive:  # its motion diverged; the face itself is still there
                self._sort.revive(face.sort, corners_of([face.box])[0])

    def looked_for(self) -> list[Face]:
        """Those whose landmarks are looked for in this frame, where they are expected; the oldest first."""
        chosen = [face for face in self.faces if not face.rejected and face.mesh is not None]
        return chosen[: self.settings.max_faces]

    def take(self, faces: list[Face], meshes: list[FaceMesh], size: Size) -> None:
        """What the landmark network found where the faces were expected."""
        for face, mesh in zip(faces, meshes, strict=True):
            box = Box.around(mesh.landmarks)
            state = self._steady(face, self.judge.known_face(mesh, box, face.expected, size), mesh)
            if state is not TrackState.PREDICTED:
                self._sights.append(Sight(face, box, state, mesh))
        self._part_clashes()

    def _steady(self, face: Face, state: TrackState, mesh: FaceMesh) -> TrackState:
        return state if face.state is TrackState.SEEN else self.judge.regained(state, mesh)

    def explain(self, seen: tuple[FaceObservation, ...], seq: int, *, current: bool) -> list[Candidate]:
        """Hold the detector's answer for frame ``seq`` against what is known; what needs a closer look.

        ``current`` says that it is the answer for this very frame and not an earlier one.
        """
        self._seen = seen if current else ()
        found = {id(sight.face): sight for sight in self._sights}
        boxes = [found[id(face)].box if id(face) in found else face.expected for face in self.faces]
        pairs, unexpected = associate(corners_of([one.box for one in seen]), corners_of(boxes), _EXPLAINED)
        candidates, least = [], own_overlaps(seen)
        matched: set[int] = set()
        for index, number in pairs:
            face, sight = self.faces[number], found.get(id(self.faces[number]))
            if sight is None or sight.state is not TrackState.SEEN:
                candidates.append(Candidate(face, seen[index]))
            elif seen[index].box.iou(sight.box) < (least[index] if current else _MOVED):
                unexpected.append(index)
                continue
            matched.add(id(face))
            face.detection = seen[index]
        for face in self.faces:
            if id(face) not in matched and id(face) not in found and seq > face.seen_seq:
                face.absent = True
        return candidates + self._newcomers([seen[index] for index in unexpected], candidates)

    def _newcomers(self, seen: list[FaceObservation], taken: list[Candidate]) -> list[Candidate]:
        busy = {id(candidate.face) for candidate in taken} | {id(sight.face) for sight in self._sights}
        return [Candidate(self._lost_near(one.box, busy), one) for one in seen]

    def _lost_near(self, box: Box, busy: set[int]) -> Face | None:
        """A lost face that may have come back at ``box``, each at most once."""
        x, y = box.centre
        for face in self.faces:
            place = face.expected.grown(2.0)
            inside = place.x <= x <= place.right and place.y <= y <= place.bottom
            if inside and id(face) not in busy and face.state is TrackState.PREDICTED:
                busy.add(id(face))
                return face
        return None

    def worth_a_look(self, candidate: Candidate) -> bool:
        """Whether the landmark network shall look now."""
        face = candidate.face
        if face is None or face.mesh is None:
            followed = sum(other.mesh is not None for other in self.faces)
            newly = sum(sight.mesh is not None and sight.face is None for sight in self._sights)
            if followed + newly >= self.settings.max_faces:
                return False
        if face is None:
            return True
        face.looks_left_out = (face.looks_left_out + 1) % (_LOOKS_LEFT_OUT + 1)
        return face.looks_left_out == 0

    def place(self, candidate: Candidate, mesh: FaceMesh | None, settled: bool, size: Size) -> None:
        """The end of a closer look; without a mesh there was none."""
        sight = self._judged(candidate, mesh, settled, size)
        own = next((one for one in self._sights if one.face is not None and one.face is candidate.face), None)
        if own is not None and own.box.iou(sight.box) < OWN:
            sight.face = None  # what was looked at is somebody beside the face that was matched with it
        elif own is not None:
            self._sights.remove(own)
        self._sights.append(sight)

    def _judged(self, candidate: Candidate, mesh: FaceMesh | None, settled: bool, size: Size) -> Sight:
        face, seen = candidate.face, candidate.seen
        if mesh is None:
            rejected = face is not None and face.rejected
            return Sight(face, seen.box, TrackState.DOUBTFUL, None, seen, rejected)
        box = Box.around(mesh.landmarks)
        state = TrackState.DOUBTFUL
        if settled and face is not None and face.mesh is not None:
            state = self._steady(face, self.judge.new_face(mesh, box, size), mesh)
        elif settled:
            state = self.judge.first_sight(seen, mesh, box, size)
        if state is TrackState.SEEN:
            return Sight(face, box, state, mesh, seen)
        rejected = (face is None or face.rejected) and is_false_box(seen, mesh)
        return Sight(
            face, seen.box, TrackState.DOUBTFUL, None, seen, rejected and not self._touches_a_face(seen.box)
        )

    def _touches_a_face(self, box: Box) -> bool:
        """Whether a box lies on a face, or where one was expected: it may be somebody half hidden."""
        expected = [face.expected for face in self.faces if not face.rejected]
        found = [sight.box for sight in self._sights if not sight.rejected]
        return any(box.intersection(other).area > 0 for other in expected + found)

    def settle(self, seq: int, seconds: float) -> None:
        """End a frame: give the sights to their tracks, and let go who is vouched to be gone."""
        self._part_clashes()
        note_apart(self._sights)
        self._cover_unexplained()
        for sight in self._sights:
            face = sight.face
            if face is not None and sight.box.iou(face.expected) < _LEAST_OVERLAP:
                face.sort.restart(corners_of([sight.box])[0])
        owners = self._sort.correct(corners_of([sight.box for sight in self._sights]))
        by_track = {face.sort: face for face in self.faces}
        for sight, track in zip(self._sights, owners, strict=True):
            self._give(sight, by_track.get(track) or self._birth(track, sight), seq, seconds)
        for face in self.faces:
            if face.sort.misses and face.id not in self.lost:
                face.miss()
                self._let_go(face)
        self.faces = [face for face in self.faces if face.id not in self.lost]

    def _part_clashes(self) -> None:
        for winner, loser in clash(self._sights):
            self.doubted += [sight.face.id for sight in (winner, loser) if sight.face is not None]
            self._sights.remove(loser)
            if loser.face is not None and is_duplicate(loser):
                loser.face.orphan = True

    def _cover_unexplained(self) -> None:
        """Whatever the detector sees in this very frame is some face's own, or is covered."""
        boxes, least = corners_of([sight.box for sight in self._sights]), own_overlaps(self._seen)
        pairs, unexpected = associate(corners_of([one.box for one in self._seen]), boxes, OWN)
        overlaps = {index: self._seen[index].box.iou(self._sights[number].box) for index, number in pairs}
        for index in [*unexpected, *(index for index, overlap in overlaps.items() if overlap < least[index])]:
            seen = self._seen[index]
            self._sights.append(Sight(None, seen.box, TrackState.DOUBTFUL, None, seen))

    def _give(self, sight: Sight, face: Face, seq: int, seconds: float) -> None:
        if sight.face is not face or face.state is TrackState.PREDICTED:
            self.doubted.append(face.id)
            face.smoother.reset()
        if face.rejected and not sight.rejected:
            self.born += 1
        face.rejected = sight.rejected
        face.detection = sight.detection or face.detection
        face.unsure = face.unsure and sight.mesh is None and _is_weak(sight)
        face.see(seq, sight.box, sight.mesh, sight.state)
        if sight.mesh is not None and sight.state is TrackState.SEEN:
            face.landmarks = face.smoother(sight.mesh.landmarks, seconds, sight.box.width)
            face.box = Box.around(face.landmarks)
            face.looks_left_out = -1
        else:
            face.smoother.reset()

    def _birth(self, track: SortTrack, sight: Sight) -> Face:
        smoother = OneEuroFilter(OneEuroParameters.of_smoothing(self.settings.smoothing))
        face = Face(track, smoother, sight.box)
        face.rejected, face.unsure = sight.rejected, sight.mesh is None and _is_weak(sight)
        self.born += not sight.rejected
        self.faces.append(face)
        return face

    def _let_go(self, face: Face) -> None:
        patience = min(self.settings.lost_frames, _UNSURE_FRAMES if face.unsure else _FOREVER)
        over = face.orphan or face.sort.misses > patience
        forgotten = face.rejected and face.sort.misses > _REJECTED_FRAMES
        if forgotten or (over and face.absent):
            self._remove(face)

    def _remove(self, face: Face) -> None:
        self.lost.append(face.id)
        self._sort.remove(face.sort)


def _is_weak(sight: Sight) -> bool:
    return sight.detection is not None and is_weak_box(sight.detection)
