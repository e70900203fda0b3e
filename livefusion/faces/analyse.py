"""The stage that knows the faces of every frame, and whether that is all of them."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from livefusion.core.events import Discontinuity, Event, Flush, FormatChange, SettingsSwap
from livefusion.core.face import AnalysedFrame, FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.settings import FaceSettings, Settings
from livefusion.core.timing import Clock
from livefusion.devices.device import Device, Stream
from livefusion.faces.cut import CutDetector
from livefusion.faces.detector_worker import Submitted
from livefusion.faces.eyes import Eyes
from livefusion.faces.judge import NO_FACE, Judge
from livefusion.faces.kalman import LIBRARY
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.pose import PoseEstimator
from livefusion.faces.recognise import Recognition
from livefusion.faces.roi import Roi
from livefusion.faces.roster import Roster
from livefusion.faces.sight import Candidate
from livefusion.faces.trust import Trust
from livefusion.runtime.stage import Drop, StageContext

DETECT_GUARD_NS = 25_000_000
"""Longest wait for this frame's detection where it decides. That takes 1.3 ms upright and 3.9 ms with the
turned looks on an idle machine; on a busy one a late frame is better than a blurred one."""
_MOST_PASSES = 5
_SETTLED_ROLL = math.radians(5)
_LONGEST_GAP_NS = 500_000_000
# At 24 pictures a second and more, the search of the one before tells who is there. Where a busy machine
# leaves pictures out, somebody steps out from behind a known face in one: in nine of fourteen runs of the
# chaos with people who pass each other, the second was shown, and repeated until the next picture came.
_LONGEST_STEP_NS = 45_000_000
_LONGEST_TURN_S = 0.1


@dataclass(frozen=True, slots=True)
class FaceCounts:
    """Figures for the report: tracks, whole pictures searched, regions looked at, changed persons."""

    tracks: int = 0
    detections_full: int = 0
    detections_roi: int = 0
    identity_switches: int = 0


class AnalyseStage:
    """Follows faces from frame to frame, while whole pictures are searched beside.

    Full detection never holds a frame back, except where only it can tell: while no face is known, when a
    face is lost, when the picture jumps and when the frame before is long past, a frame waits up to
    ``detect_guard_ns`` for its own detection. So faces are born in the frame in which they appear. Without an
    answer the frame goes on untrusted.
    """

    def __init__(
        self,
        device: Device,
        make_eyes: Callable[[Stream, Clock], Eyes],
        pose: PoseEstimator,
        settings: FaceSettings | None = None,
        *,
        detect_guard_ns: int = DETECT_GUARD_NS,
        known: tuple[FaceTrack, ...] = (),
    ) -> None:
        self._device = device
        self._make_eyes = make_eyes
        self._pose = pose
        self._settings = settings or FaceSettings()
        self._guard_ns = detect_guard_ns
        self._stream = device.stream("analyse")
        self._eyes: Eyes | None = None
        self._tracks = known
        self._idle = threading.Event()
        self._counts = FaceCounts()
        self._base = FaceCounts()
        self._looks = 0

    @property
    def tracks(self) -> tuple[FaceTrack, ...]:
        """The faces of the last frame, for a stage that takes over from this one; from any thread."""
        return self._tracks

    @property
    def counts(self) -> FaceCounts:
        """The figures as of the last frame; may be read from any thread."""
        return self._counts

    def open(self, context: StageContext) -> None:
        """Load the networks and start the detector's thread, knowing where faces were before a failure."""
        self._base, self._looks = self._counts, 0
        self._roster = Roster(self._settings, Judge(self._settings.presence, self._pose))
        self._roster.resume([track.box for track in self._tracks])
        self._recognition = Recognition(self._pose)
        self._cuts = CutDetector()
        self._trust = Trust()
        self._newest_seq = -1
        self._last: Frame | None = None
        self._since_search = 0
        self._eyes = self._make_eyes(self._stream, context.clock)
        # Only now: imported at the same time as numba it would hold the first picture back by half a second.
        LIBRARY.load_beside(partial(self._idle.wait, _LONGEST_TURN_S))

    def process(self, item: Frame) -> AnalysedFrame | Drop:
        """The faces of a frame."""
        self._idle.clear()
        try:
            return self._analyse(item)
        finally:
            self._idle.set()

    def _analyse(self, item: Frame) -> AnalysedFrame:
        eyes, roster = self._opened(), self._roster
        self._trust.frame(item.seq)
        submitted = self._search(eyes, item)
        jumped = self._jumped(item, submitted)
        roster.predict()
        faces = roster.looked_for()
        roster.take(faces, self._find(eyes, item, [face.roi for face in faces]), item.size)
        # Who was lost, or came since the last frame, may be anywhere: the last search did not see this one.
        stepped = submitted is not None and self._since_last_ns(item) > _LONGEST_STEP_NS
        doubtful = roster.missing or roster.astray or stepped
        decisive = jumped or doubtful or not roster.finds_any
        self._answer(eyes, item, decisive and submitted is not None)
        vouched = not doubtful or self._newest_seq >= item.seq
        roster.settle(item.seq, self._seconds(item))
        read = self._recognition.update(eyes.search, item, roster.faces, roster.lost, roster.doubted)
        self._stream.wait(read)
        self._last = item
        return self._analysed(eyes, item, vouched)

    def fallback(self, item: Frame, error: BaseException | None) -> AnalysedFrame | Drop:
        """The faces last known, and no trust in them."""
        self._stream.wait(item.buffer.ready)
        frame = item.with_buffer(item.buffer.after(self._stream.record()))
        return AnalysedFrame(frame, self._tracks, trusted=False)

    def handle(self, event: Event) -> None:
        """Forget the scene where the picture jumps; take over new settings."""
        if isinstance(event, SettingsSwap) and isinstance(event.settings, Settings):
            self._settings = event.settings.faces
            if self._eyes is not None:
                self._roster.adopt(self._settings)
        elif isinstance(event, Flush | FormatChange | Discontinuity):
            self._tracks = ()
            if self._eyes is not None:
                self._forget()

    def close(self) -> None:
        """End the detector's thread."""
        eyes, self._eyes = self._eyes, None
        if eyes is not None:
            eyes.search.close()

    def _opened(self) -> Eyes:
        assert self._eyes is not None, "the runtime opens a stage before it processes"
        return self._eyes

    def _forget(self) -> None:
        self._trust.new_scene()
        self._cuts.reset()
        self._last = None
        for face in self._roster.faces:
            self._recognition.binder.forget(face.id)
        self._roster.clear()

    def _search(self, eyes: Eyes, frame: Frame) -> Submitted | None:
        self._since_search += 1
        if self._roster.calm and self._since_search < self._settings.detect_every:
            self._stream.wait(frame.buffer.ready)
            return None
        self._since_search = 0
        submitted = eyes.search.submit(frame, self._roster.known, self._settings.detect_score)
        self._stream.wait(submitted.read)  # which lies behind ``ready``
        self._trust.asked(frame.seq, frame.captured_ns)
        return submitted

    def _jumped(self, frame: Frame, submitted: Submitted | None) -> bool:
        """Whether another scene may begin here; a gap in time counts, for nobody saw what happened in it.

        A first frame begins one too, but who was known before a failure of the stage is still expected.
        """
        cut = submitted is not None and self._cuts(submitted.thumbnail)
        if self._last is None:
            self._trust.new_scene(frame.seq)
            return True
        gap = self._since_last_ns(frame) > _LONGEST_GAP_NS
        if cut or gap:
            self._trust.new_scene(frame.seq)
            self._roster.jump(frame.seq)
        return cut or gap

    def _find(self, eyes: Eyes, frame: Frame, rois: list[Roi]) -> list[FaceMesh]:
        self._looks += len(rois)
        return eyes.landmarks.find(frame, rois)

    def _answer(self, eyes: Eyes, frame: Frame, wait: bool) -> None:
        """Take in the newest detection, if it is new."""
        search = eyes.search
        newest = search.wait_for(frame.seq, frame.epoch, self._guard_ns) if wait else search.newest()
        if newest is None or newest.epoch != frame.epoch or newest.seq <= self._newest_seq:
            return
        self._newest_seq = newest.seq
        if not self._trust.answered(newest.seq):
            return
        for candidate in self._roster.explain(newest.faces, newest.seq, current=newest.seq == frame.seq):
            if self._roster.worth_a_look(candidate):
                self._look_closer(eyes, frame, candidate)
            else:
                self._roster.place(candidate, None, False, frame.size)

    def _look_closer(self, eyes: Eyes, frame: Frame, candidate: Candidate) -> None:
        """Look where the last look says the face is, until its roll stays; the detector's is mostly 0."""
        roi = Roi.of_detection(candidate.seen)
        settled = False
        for passes in range(1, _MOST_PASSES + 1):
            (mesh,) = self._find(eyes, frame, [roi])
            before, roi = roi, Roi.of_landmarks(mesh.landmarks)
            settled = passes > 1 and roi.roll_from(before) < _SETTLED_ROLL
            if settled or (passes > 1 and mesh.presence < NO_FACE):
                break
        self._roster.place(candidate, mesh, settled, frame.size)

    def _since_last_ns(self, frame: Frame) -> int:
        """Capture time since the last frame; 0 for the first."""
        return 0 if self._last is None else frame.captured_ns - self._last.captured_ns

    def _seconds(self, frame: Frame) -> float:
        """Media time since the last frame; 0 if it does not run forward."""
        return 0.0 if self._last is None else max(0.0, frame.ts.seconds - self._last.ts.seconds)

    def _analysed(self, eyes: Eyes, frame: Frame, vouched: bool) -> AnalysedFrame:
        person_of = self._recognition.binder.person_of
        self._tracks = tuple(
            face.track(frame.size, person_of(face.id)) for face in self._roster.faces if not face.rejected
        )
        if eyes.points is not None:
            aligned = zip(self._tracks, eyes.points.align(frame, self._tracks), strict=True)
            self._tracks = tuple(replace(track, points=points) for track, points in aligned)
        self._counts = FaceCounts(
            tracks=self._base.tracks + self._roster.born,
            detections_full=self._base.detections_full + eyes.search.searched,
            detections_roi=self._base.detections_roi + self._looks,
            identity_switches=self._base.identity_switches + self._recognition.binder.switches,
        )
        read = frame.with_buffer(frame.buffer.after(self._stream.record()))
        return AnalysedFrame(read, self._tracks, vouched and self._trust.holds(frame.captured_ns))
