"""The analyse stage in a small world with ground truth: no known face is ever left uncovered."""

import io
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.events import Discontinuity, Flush, SettingsSwap
from livefusion.core.face import AnalysedFrame, FaceObservation, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import FaceSettings, Settings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.faces.analyse import AnalyseStage
from livefusion.faces.detector_worker import Detection, Submitted
from livefusion.faces.eyes import Eyes
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.pose import PoseEstimator
from livefusion.faces.roi import Roi
from livefusion.inference.registry import ModelRegistry
from livefusion.runtime.stage import StageContext

pytestmark = pytest.mark.chaos

SIZE = Size(1280, 720)
COVER = 1.6
"""How much the safety policy grows the box of a face that it hides."""


def canonical() -> npt.NDArray[np.float32]:
    with np.load(io.BytesIO(ModelRegistry.load()["canonical_mesh"].read())) as arrays:
        vertices = arrays["vertices"] * np.float32([1, -1, -1])
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    unit = (vertices - low) / (high[:2] - low[:2]).max()
    irises = np.repeat(unit[[33]], 10, axis=0)
    return np.concatenate([unit, irises]).astype(np.float32)


FACE = canonical()
FACE_SHAPE = FACE[:, :2].max(axis=0)
POSE = PoseEstimator.from_registry()


def mesh_in(box: Box) -> npt.NDArray[np.float32]:
    scale = box.height / FACE_SHAPE[1]
    points = FACE * np.float32(scale)
    points[:, 0] += box.centre[0] - FACE_SHAPE[0] * scale / 2
    points[:, 1] += box.y
    return points.astype(np.float32)


@dataclass
class Person:
    """A face with a straight path; the larger ``depth``, the further behind."""

    name: int
    start: tuple[float, float]
    velocity: tuple[float, float] = (0, 0)
    height: float = 150.0
    since: int = 0
    until: int = 1 << 30
    depth: int = 0
    presence: float = 1.0
    score: float = 0.9
    undetectable: frozenset[int] = frozenset()
    blurred: frozenset[int] = frozenset()

    def box(self, index: int) -> Box:
        steps = index - self.since
        x, y = self.start[0] + self.velocity[0] * steps, self.start[1] + self.velocity[1] * steps
        return Box(x, y, self.height * FACE_SHAPE[0] / FACE_SHAPE[1], self.height)


@dataclass
class World:
    """What is in front of the camera, and what is wrong with the detector."""

    people: list[Person]
    cuts: frozenset[int] = frozenset()
    blind: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()
    hung: frozenset[int] = frozenset()
    false_boxes: list[tuple[Box, float]] = field(default_factory=list)
    index: int = -1

    def visible(self, index: int) -> list[Person]:
        """Those whose face is not hidden behind another one, front to back."""
        here = sorted((p for p in self.people if p.since <= index < p.until), key=lambda p: p.depth)
        shown: list[Person] = []
        for person in here:
            box = person.box(index)
            hidden = any(box.intersection(front.box(index)).area > 0.5 * box.area for front in shown)
            if not hidden and box.clipped(SIZE).area > 0.5 * box.area:
                shown.append(person)
        return shown

    def detections(self, index: int) -> tuple[FaceObservation, ...]:
        if index in self.blind:
            return ()
        real = [
            FaceObservation(
                p.box(index).grown(0.9), p.score, mesh_in(p.box(index))[[33, 263, 4, 61, 291], :2]
            )
            for p in self.visible(index)
            if index not in p.undetectable
        ]
        return (*real, *(FaceObservation(box, score) for box, score in self.false_boxes))

    def thumbnail(self, index: int) -> npt.NDArray[np.float32]:
        scene = sum(cut <= index for cut in self.cuts)
        blocks = np.random.default_rng(scene).uniform(0, 255, (9, 16)).astype(np.float32)
        return np.kron(blocks, np.ones((20, 20), np.float32))


class ScriptedSearch:
    """Answers at once, one frame late, or not at all, as the world's script says."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.searched = 0
        self._newest: Detection | None = None
        self._held: deque[Detection] = deque()
        self.embedding_of: dict[int, npt.NDArray[np.float32]] = {}
        self.answers: list[tuple[int, npt.NDArray[np.float32]]] = []

    def submit(self, frame: Frame, known: Sequence[Box], score: float) -> Submitted:
        index = self.world.index
        if index in self.world.hung:
            return Submitted(CpuDevice().stream("x").record(), self.world.thumbnail(index))
        while self._held:
            self._finish(self._held.popleft())
        detection = Detection(frame.seq, frame.epoch, self.world.detections(index))
        if index in self.world.late:
            self._held.append(detection)
        else:
            self._finish(detection)
        return Submitted(CpuDevice().stream("x").record(), self.world.thumbnail(index))

    def _finish(self, detection: Detection) -> None:
        self.searched += 1
        self._newest = detection

    def newest(self) -> Detection | None:
        return self._newest

    def wait_for(self, seq: int, epoch: int, timeout_ns: int) -> Detection | None:
        return self._newest

    def recognise(self, frame: Frame, track: int, landmarks: npt.NDArray[np.float32]) -> Any:
        box = Box.around(landmarks)
        nearest = max(self.world.visible(self.world.index), key=lambda p: p.box(self.world.index).iou(box))
        self.answers.append((track, np.eye(128, dtype=np.float32)[nearest.name]))
        return CpuDevice().stream("x").record()

    def embeddings(self) -> list[tuple[int, npt.NDArray[np.float32]]]:
        answers, self.answers = self.answers, []
        return answers

    def close(self) -> None:
        pass


class ScriptedLandmarks:
    """Sees the face nearest to the middle of a region, and nothing where none is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.calls = 0

    def find(self, frame: Frame, rois: Sequence[Roi]) -> list[FaceMesh]:
        return [self._look(roi) for roi in rois]

    def _look(self, roi: Roi) -> FaceMesh:
        self.calls += 1
        index = self.world.index
        region = Box(roi.centre[0] - roi.side / 2, roi.centre[1] - roi.side / 2, roi.side, roi.side)
        shown = [(p.box(index), p) for p in self.world.visible(index)]
        inside = [(box.intersection(region).area / box.area, box, p) for box, p in shown]
        whole = [one for one in inside if one[0] > 0.6]
        best = min(whole, key=lambda one: np.hypot(*np.subtract(one[1].centre, roi.centre)), default=None)
        if best is None:
            return FaceMesh(mesh_in(region.grown(0.6)), 0.01)
        presence = 0.3 if index in best[2].blurred else best[2].presence
        return FaceMesh(mesh_in(best[1]), presence)


class Plane:
    """A buffer whose pixels nobody reads."""

    device = "cpu"
    luma = chroma = None
    ready = None

    def after(self, event: Any) -> "Plane":
        return self


class Theatre:
    """Runs a stage in a world."""

    def __init__(self, world: World, settings: FaceSettings | None = None) -> None:
        self.world = world
        self.search = ScriptedSearch(world)
        self.landmarks = ScriptedLandmarks(world)
        eyes = Eyes(self.search, self.landmarks)
        self.stage = AnalyseStage(CpuDevice(), lambda stream, clock: eyes, POSE, settings)
        self.stage.open(StageContext("analyse", SystemClock()))

    def frame(self, index: int, captured_ns: int | None = None) -> Frame:
        at = index * 33_333_333 if captured_ns is None else captured_ns
        return Frame(index, "world", Timestamp(index, Fraction(1, 30)), at, SIZE, ColorInfo(), Plane())

    def show(self, index: int, captured_ns: int | None = None) -> AnalysedFrame:
        self.world.index = index
        analysed = self.stage.process(self.frame(index, captured_ns))
        assert isinstance(analysed, AnalysedFrame)
        return analysed


def is_covered(face: Box, analysed: AnalysedFrame) -> bool:
    for track in analysed.tracks:
        if track.state is TrackState.SEEN:
            assert track.landmarks is not None
            if track.box.iou(face) > 0.5:
                return True
        elif track.box.grown(COVER).intersection(face).area > 0.9 * face.area:
            return True
    return False


def raw_faces(world: World, analysed: AnalysedFrame, known: set[int]) -> list[int]:
    if not analysed.trusted:
        return []
    index = world.index
    return [
        p.name for p in world.visible(index) if p.name in known and not is_covered(p.box(index), analysed)
    ]


def test_a_face_is_born_seen_in_its_first_frame() -> None:
    theatre = Theatre(World([Person(0, (400, 200)), Person(1, (800, 200), since=5)]))
    for index in range(10):
        analysed = theatre.show(index)
        assert analysed.trusted
        assert [track.state for track in analysed.tracks] == [TrackState.SEEN] * (1 if index < 5 else 2)
    assert theatre.stage.counts.tracks == 2
    assert theatre.stage.counts.detections_full == 10


@pytest.mark.parametrize("length", [1, 2, 7, 15, 30])
def test_blind_detector_loses_no_known_face(length: int) -> None:
    world = World([Person(0, (300, 200), (4, 0))], blind=frozenset(range(10, 10 + length)))
    theatre = Theatre(world)
    for index in range(60):
        analysed = theatre.show(index)
        assert raw_faces(world, analysed, {0}) == []
        assert [track.id for track in analysed.tracks] == [1]


def test_blind_detector_and_blurred_face_stay_covered_for_lost_frames() -> None:
    bad = frozenset(range(10, 40))
    world = World([Person(0, (300, 200), (1, 0), blurred=bad)], blind=bad)
    theatre = Theatre(world, FaceSettings(lost_frames=30))
    for index in range(60):
        assert raw_faces(world, theatre.show(index), {0}) == []


def test_before_the_first_detection_nothing_is_trusted() -> None:
    theatre = Theatre(World([Person(0, (400, 200))], late=frozenset(range(3)), hung=frozenset({0, 1})))
    assert [theatre.show(index).trusted for index in range(5)] == [False, False, False, True, True]


def test_silent_detector_takes_the_trust_away() -> None:
    world = World([Person(0, (400, 200))], hung=frozenset(range(10, 200)))
    theatre = Theatre(world)
    trusted = [theatre.show(index).trusted for index in range(60)]
    assert all(trusted[:24])
    assert not any(trusted[26:])


def test_silent_detector_at_a_low_frame_rate_is_noticed_by_time() -> None:
    theatre = Theatre(World([Person(0, (400, 200))], hung=frozenset(range(3, 200))))
    trusted = [theatre.show(index, index * 250_000_000).trusted for index in range(8)]
    assert trusted == [True, True, True, False, False, False, False, False]


@pytest.mark.parametrize(("step_ms", "trusted"), [(33, True), (42, True), (50, False), (100, False)])
def test_where_pictures_are_left_out_only_the_search_of_a_frame_itself_vouches(
    step_ms: int, trusted: bool
) -> None:
    theatre = Theatre(World([Person(0, (400, 200))], late=frozenset(range(5, 40))))
    shown = [theatre.show(index, index * step_ms * 1_000_000).trusted for index in range(30)]
    assert all(shown[:5])
    assert set(shown[6:]) == {trusted}


def test_who_comes_while_pictures_are_left_out_is_covered_at_once() -> None:
    world = World([Person(0, (200, 200)), Person(1, (700, 300), since=20)])
    theatre = Theatre(world)
    for index in range(30):
        analysed = theatre.show(index, index * 100_000_000)
        assert analysed.trusted
        assert raw_faces(world, analysed, {0, 1}) == []


@pytest.mark.parametrize("late", [False, True])
def test_cut_is_untrusted_until_a_detection_of_the_new_scene(late: bool) -> None:
    people = [Person(0, (200, 200), until=20), Person(1, (900, 300), since=20)]
    world = World(people, cuts=frozenset({20}), late=frozenset({20}) if late else frozenset())
    theatre = Theatre(world)
    for index in range(40):
        analysed = theatre.show(index)
        assert raw_faces(world, analysed, {0, 1}) == []
        assert analysed.trusted is not (late and index == 20)
        if index > 21:
            assert [track.id for track in analysed.tracks] == [2]


def test_answer_about_the_last_scene_is_not_believed_after_a_cut() -> None:
    people = [Person(0, (200, 200), until=20), Person(1, (900, 300), since=20)]
    world = World(people, cuts=frozenset({20}), late=frozenset({19, 20}), hung=frozenset({20}))
    theatre = Theatre(world)
    for index in range(20):
        theatre.show(index)
    theatre.search._finish(theatre.search._held.popleft())
    assert not theatre.show(20).trusted
    after = theatre.show(21)
    assert after.trusted
    assert [track.box.centre[0] > 640 for track in after.tracks] == [True]


def test_detection_each_few_frames_is_enough_while_faces_are_seen() -> None:
    world = World([Person(0, (200, 200), (2, 0)), Person(1, (900, 300), since=33)])
    theatre = Theatre(world, FaceSettings(detect_every=5))
    shown = [theatre.show(index) for index in range(60)]
    assert all(analysed.trusted for analysed in shown)
    assert theatre.stage.counts.detections_full == 12
    assert len(shown[30].tracks) == 1
    assert all(len(analysed.tracks) == 2 for analysed in shown[37:])


def test_new_settings_hold_from_the_next_frame_on() -> None:
    world = World([Person(0, (200, 200), presence=0.6)])
    theatre = Theatre(world)
    assert theatre.show(0).tracks[0].state is TrackState.SEEN
    theatre.stage.handle(SettingsSwap(Settings(faces=FaceSettings(presence=0.7))))
    assert theatre.show(1).tracks[0].state is TrackState.DOUBTFUL


def test_people_who_cross_keep_their_tracks_and_persons() -> None:
    people = [Person(0, (200, 200), (10, 0)), Person(1, (900, 215), (-10, 0), depth=1)]
    world = World(people)
    theatre = Theatre(world)
    last: AnalysedFrame | None = None
    for index in range(60):
        last = theatre.show(index)
        assert raw_faces(world, last, {0, 1}) == []
    assert last is not None
    places = {track.person: track.box.centre[0] for track in last.tracks if track.state is TrackState.SEEN}
    names = {track.id: track.person for track in last.tracks if track.state is TrackState.SEEN}
    assert len(places) == 2
    assert places[0] > places[1]
    assert sorted(names) == [1, 2]
    assert theatre.stage.counts.identity_switches == 0


def test_crossing_with_the_older_track_behind() -> None:
    people = [Person(0, (200, 200), (10, 0), depth=1), Person(1, (900, 215), (-10, 0), since=1)]
    world = World(people)
    theatre = Theatre(world)
    for index in range(70):
        last = theatre.show(index)
        assert raw_faces(world, last, {0, 1}) == []
    places = {track.person: track.box.centre[0] for track in last.tracks if track.state is TrackState.SEEN}
    assert places[0] > places[1]
    assert theatre.stage.counts.identity_switches == 0


@pytest.mark.parametrize(("score", "height", "tracks"), [(0.7, 150.0, 0), (0.85, 150.0, 1), (0.7, 20.0, 1)])
def test_false_boxes_are_rejected_and_doubtful_ones_covered(score: float, height: float, tracks: int) -> None:
    world = World([], false_boxes=[(Box(500, 300, height, height), score)])
    theatre = Theatre(world)
    for index in range(20):
        analysed = theatre.show(index)
        assert [track.state for track in analysed.tracks] == [TrackState.DOUBTFUL] * tracks
    assert theatre.landmarks.calls < 20


def test_a_weak_box_that_lies_on_a_face_is_covered_and_never_rejected() -> None:
    world = World([Person(0, (400, 250))], false_boxes=[(Box(330, 260, 100, 130), 0.7)])
    theatre = Theatre(world)
    theatre.show(0)
    for index in range(1, 10):
        states = [track.state for track in theatre.show(index).tracks]
        assert states == [TrackState.SEEN, TrackState.DOUBTFUL]


def test_a_weak_box_is_covered_where_the_face_before_it_was_not_expected() -> None:
    """Half a face behind one that moves: the first frame, and one after pictures were left out."""
    world = World([Person(0, (400, 250), (5, 0))], false_boxes=[(Box(330, 260, 100, 130), 0.7)])
    theatre = Theatre(world)
    assert [track.state for track in theatre.show(0).tracks] == [TrackState.SEEN, TrackState.DOUBTFUL]
    behind = Box(640, 260, 100, 130)
    world.false_boxes = [(behind, 0.7)]
    theatre.show(1)
    analysed = theatre.show(60, 2_000_000_000)
    face = world.people[0].box(60)
    assert face.intersection(behind).area > 0
    assert is_covered(face, analysed)
    assert any(track.box.iou(behind) == 1 for track in analysed.tracks)


def test_a_rejected_box_that_becomes_a_face_is_covered_within_three_frames() -> None:
    world = World([Person(0, (480, 280), since=15)], false_boxes=[(Box(500, 300, 100, 130), 0.7)])
    theatre = Theatre(world)
    shown = [theatre.show(index) for index in range(20)]
    assert shown[14].tracks == ()
    for index in (17, 18, 19):
        world.index = index
        assert raw_faces(world, shown[index], {0}) == []


@pytest.mark.parametrize("presence", [0.2, 0.4])
def test_weak_presence_is_doubtful(presence: float) -> None:
    theatre = Theatre(World([Person(0, (400, 200), presence=presence)]))
    for index in range(10):
        (track,) = theatre.show(index).tracks
        assert track.state is TrackState.DOUBTFUL


def test_more_faces_than_are_swapped_are_covered() -> None:
    people = [Person(number, (100 + 220 * number, 200)) for number in range(5)]
    world = World(people)
    theatre = Theatre(world, FaceSettings(max_faces=3))
    for index in range(10):
        analysed = theatre.show(index)
        assert raw_faces(world, analysed, set(range(5))) == []
        states = [track.state for track in analysed.tracks]
        assert states.count(TrackState.SEEN) == 3
        assert len(states) == 5


def test_a_face_that_leaves_is_let_go_after_lost_frames() -> None:
    theatre = Theatre(World([Person(0, (400, 200), until=10)]), FaceSettings(lost_frames=12))
    alive = [len(theatre.show(index).tracks) for index in range(40)]
    assert alive == [1] * 22 + [0] * 18


def test_a_lost_face_is_not_let_go_while_the_detector_is_silent() -> None:
    world = World([Person(0, (400, 200), until=10)], hung=frozenset(range(10, 60)))
    theatre = Theatre(world, FaceSettings(lost_frames=5))
    assert all(len(theatre.show(index).tracks) == 1 for index in range(60))


def test_a_face_that_jumps_is_found_again_in_the_same_frame() -> None:
    here = Person(0, (200, 200), until=20)
    there = Person(0, (900, 400), since=20)
    world = World([here, there])
    theatre = Theatre(world)
    for index in range(30):
        assert raw_faces(world, theatre.show(index), {0}) == []


def test_a_gap_in_time_counts_as_a_jump() -> None:
    world = World([Person(0, (200, 200), until=10), Person(1, (900, 200), since=10)], late=frozenset({10}))
    theatre = Theatre(world)
    for index in range(10):
        theatre.show(index)
    assert not theatre.show(10, 5_000_000_000).trusted


@pytest.mark.parametrize("event", [Discontinuity("the camera is back"), Flush(0)])
def test_discontinuity_forgets_every_face(event: Any) -> None:
    world = World([Person(0, (200, 200))], late=frozenset({10}))
    theatre = Theatre(world)
    for index in range(10):
        theatre.show(index)
    theatre.stage.handle(event)
    analysed = theatre.show(10)
    assert not analysed.trusted
    assert analysed.tracks == ()
    assert theatre.show(11).trusted


@pytest.mark.parametrize("another", [False, True])
def test_a_stage_that_comes_back_covers_who_was_known_though_its_detector_is_blind(another: bool) -> None:
    world = World([Person(0, (200, 200))], blind=frozenset(range(10, 60)))
    theatre = Theatre(world)
    for index in range(10):
        theatre.show(index)
    if another:  # the first one hangs, and a new one takes its place
        eyes = Eyes(theatre.search, theatre.landmarks)
        known = theatre.stage.tracks
        theatre.stage = AnalyseStage(CpuDevice(), lambda stream, clock: eyes, POSE, known=known)
    else:
        theatre.stage.close()
    theatre.stage.open(StageContext("analyse", SystemClock()))
    for index in range(10, 35):
        assert raw_faces(world, theatre.show(index), {0}) == []
    assert theatre.stage.counts.tracks == (0 if another else 1)


def test_fallback_keeps_the_faces_and_loses_the_trust() -> None:
    theatre = Theatre(World([Person(0, (200, 200))]))
    fresh = AnalyseStage(CpuDevice(), lambda stream, clock: theatre.stage._opened(), POSE)
    blank = fresh.fallback(theatre.frame(0), None)
    assert isinstance(blank, AnalysedFrame)
    assert (blank.tracks, blank.trusted) == ((), False)
    before = theatre.show(0)
    theatre.stage.close()
    after = theatre.stage.fallback(theatre.frame(1), ValueError("broken"))
    assert isinstance(after, AnalysedFrame)
    assert after.tracks == before.tracks
    assert not after.trusted


def random_world(seed: int) -> World:
    rng = np.random.default_rng(seed)
    frames = 80
    people = []
    for name in range(int(rng.integers(1, 4))):
        bad = frozenset(rng.choice(frames, 8).tolist())
        start = (float(rng.uniform(50, 1000)), float(rng.uniform(50, 450)))
        velocity = (float(rng.normal(0, 6)), float(rng.normal(0, 2)))
        since = int(rng.integers(0, 30)) if name else 0
        blurred = frozenset(rng.choice(frames, 6).tolist())
        person = Person(name, start, velocity, float(rng.uniform(80, 250)), since, depth=name)
        people.append(replace(person, undetectable=bad, blurred=blurred))
    cuts = frozenset[int]()
    if seed % 4 == 1:
        cut = int(rng.integers(10, 70))
        cuts = frozenset({cut})
        people = [replace(person, until=cut) for person in people if person.since < cut]
        people.append(Person(9, (float(rng.uniform(50, 1000)), 300.0), (3, 0), 160.0, since=cut))
    blind_at, length = int(rng.integers(5, 60)), int(rng.integers(1, 31))
    return World(
        people,
        cuts=cuts,
        blind=frozenset(range(blind_at, blind_at + length)),
        late=frozenset(rng.choice(frames, 20).tolist()),
        hung=frozenset(rng.choice(frames, 5).tolist()),
        false_boxes=[(Box(600, 50, 90, 90), 0.7)] if seed % 3 == 0 else [],
    )


@pytest.mark.parametrize("seed", range(30))
def test_no_known_face_is_ever_raw(seed: int) -> None:
    world = random_world(seed)
    theatre = Theatre(world)
    known: set[int] = set()
    last = -1
    for index in range(80):
        analysed = theatre.show(index)
        known &= {p.name for p in world.visible(index)}  # who comes out from behind somebody is new
        assert raw_faces(world, analysed, known) == [], index
        assert analysed.seq > last
        last = analysed.seq
        seen = {p.name for p in world.visible(index) if index not in p.undetectable}
        if index not in world.blind | world.late | world.hung and analysed.trusted:
            known |= seen


def test_a_lost_face_needs_a_search_of_the_very_frame() -> None:
    lost = frozenset(range(10, 14))
    world = World([Person(0, (200, 200)), Person(1, (900, 200), blurred=lost, undetectable=lost)], late=lost)
    theatre = Theatre(world)
    trusted = [theatre.show(index).trusted for index in range(16)]
    assert trusted == [index not in lost for index in range(16)]


def test_two_who_meet_soon_after_their_birth_both_stay_known() -> None:
    front = Person(0, (500, 200), (-30, 0))
    behind = Person(1, (300, 200), (30, 0), depth=1)
    theatre = Theatre(World([front, behind]))
    for index in range(8):
        analysed = theatre.show(index)
        assert len(analysed.tracks) == 2 or index == 0, f"frame {index}"


@pytest.mark.parametrize(
    ("score", "presence", "state"), [(0.7, 0.59, "doubtful"), (0.7, 0.95, "seen"), (0.9, 0.59, "seen")]
)
def test_what_neither_network_is_sure_of_is_covered_and_not_swapped(
    score: float, presence: float, state: str
) -> None:
    theatre = Theatre(World([Person(0, (400, 200), presence=presence, score=score)]))
    for index in range(6):
        (track,) = theatre.show(index).tracks
        assert track.state is TrackState(state)


@pytest.mark.parametrize(("score", "presence", "frames"), [(0.7, 0.59, 6), (0.7, 0.95, 30), (0.9, 0.05, 30)])
def test_what_never_was_a_sure_face_is_covered_less_long(score: float, presence: float, frames: int) -> None:
    world = World([Person(0, (400, 200), presence=presence, score=score, until=3)])
    theatre = Theatre(world, FaceSettings(lost_frames=30))
    alive = [len(theatre.show(index).tracks) for index in range(40)]
    assert alive == [1] * (3 + frames) + [0] * (37 - frames)


def test_a_face_that_was_once_sure_is_known_for_good() -> None:
    weak = frozenset(range(5, 10))
    world = World([Person(0, (400, 200), score=0.7, blurred=weak, until=10)])
    theatre = Theatre(world, FaceSettings(lost_frames=30))
    alive = [len(theatre.show(index).tracks) for index in range(40)]
    assert sum(alive) == 40


@pytest.mark.parametrize(("presence", "state"), [(0.76, "doubtful"), (0.94, "seen")])
def test_a_face_that_was_out_of_sight_comes_back_only_when_it_is_sure(presence: float, state: str) -> None:
    person = Person(0, (400, 200), blurred=frozenset({3}))
    theatre = Theatre(World([person]))
    for index in range(7):
        person.presence = presence if index > 3 else 1.0
        (track,) = theatre.show(index).tracks
        if index > 3:
            assert track.state is TrackState(state)


def test_a_face_that_goes_on_being_seen_need_not_be_so_sure() -> None:
    person = Person(0, (400, 200))
    theatre = Theatre(World([person]))
    for index in range(6):
        person.presence = 0.76 if index > 2 else 1.0
        (track,) = theatre.show(index).tracks
        assert track.state is TrackState.SEEN
