"""Asks, off the frame's path, whose face a track shows, and binds the answer to the track."""

from collections.abc import Sequence
from typing import Protocol

from livefusion.core.face import Landmarks, TrackState
from livefusion.core.frame import Frame
from livefusion.devices.device import Event
from livefusion.faces.embed import Embedding
from livefusion.faces.face import Face
from livefusion.faces.identity import IdentityBinder
from livefusion.faces.pose import PoseEstimator

# Turned and small faces resemble everybody: they are asked about when they can be told.
_MOST_YAW = 40.0
_LEAST_WIDTH = 40.0
# Each so many frames a face is asked about again even if nothing has made it doubtful.
_AGAIN = 150


class Questions(Protocol):
    """The part of ``DetectorWorker`` that answers."""

    def recognise(self, frame: Frame, track: int, landmarks: Landmarks) -> Event | None:
        """Ask; None if the last question is still open."""
        ...

    def embeddings(self) -> list[tuple[int, Embedding]]:
        """Answers since the last call."""
        ...


class Recognition:
    """One question at a time, for the face that needs it most."""

    def __init__(self, pose: PoseEstimator) -> None:
        self.binder = IdentityBinder()
        self._pose = pose
        self._asked_at: dict[int, int] = {}
        self._frames = 0

    def update(
        self, questions: Questions, frame: Frame, faces: Sequence[Face], lost: list[int], doubted: list[int]
    ) -> Event | None:
        """Take in answers and ask the next question; the end of its read of the frame, if one was asked."""
        self._frames += 1
        living = {face.id for face in faces}
        for track, embedding in questions.embeddings():
            if track in living:
                self.binder.observe(track, embedding)
        for track in doubted:
            self.binder.doubt(track)
        for track in lost:
            self.binder.forget(track)
            self._asked_at.pop(track, None)
        return self._ask(questions, frame, faces)

    def _ask(self, questions: Questions, frame: Frame, faces: Sequence[Face]) -> Event | None:
        due = sorted((face for face in faces if self._is_due(face)), key=self._asked)
        for face in due:
            if face.landmarks is not None and abs(self._pose(face.landmarks).yaw) < _MOST_YAW:
                read = questions.recognise(frame, face.id, face.landmarks)
                if read is not None:
                    self._asked_at[face.id] = self._frames
                return read
        return None

    def _is_due(self, face: Face) -> bool:
        if face.state is not TrackState.SEEN or face.box.width < _LEAST_WIDTH:
            return False
        return not self.binder.is_settled(face.id) or self._frames - self._asked(face) >= _AGAIN

    def _asked(self, face: Face) -> int:
        return self._asked_at.get(face.id, -_AGAIN)
