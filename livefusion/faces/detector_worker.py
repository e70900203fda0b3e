"""The thread beside the frame's path: searches whole pictures for faces, and now and then recognises one."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import GraphError
from livefusion.core.face import FaceObservation, Landmarks
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.timing import Clock
from livefusion.devices.device import Event
from livefusion.faces.detect import DetectionJob, Slot
from livefusion.faces.embed import Embedding

_log = logging.getLogger(__name__)

# A detector that hangs in native code cannot be ended; its thread is left behind after this long.
_JOIN_SECONDS = 2.0


class Detecting(Protocol):
    """The part of ``LiveDetector`` that the worker needs."""

    @property
    def slots(self) -> list[Slot]:
        """At least three: one searched, one waiting, one being filled."""
        ...

    def shrink(self, frame: Frame, slot: Slot, known: tuple[Box, ...], score: float) -> DetectionJob:
        """Put the frame into a free slot."""
        ...

    def thumbnail(self, job: DetectionJob, size: Size) -> npt.NDArray[np.float32]:
        """The shrunken picture in grey."""
        ...

    def find(self, job: DetectionJob) -> list[FaceObservation]:
        """Faces in frame pixels."""
        ...


class Recognising(Protocol):
    """The part of ``LiveRecogniser`` that the worker needs."""

    def crop(self, frame: Frame, landmarks: Landmarks) -> Event:
        """Copy an aligned face; the event is behind the read of the frame."""
        ...

    def embed(self) -> Embedding:
        """The embedding of the face copied last."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """What a search of the whole picture of frame ``seq`` found."""

    seq: int
    epoch: int
    faces: tuple[FaceObservation, ...]


@dataclass(frozen=True, slots=True)
class Submitted:
    """A frame handed to the detector: the end of the read of its pixels, and its thumbnail."""

    read: Event
    thumbnail: npt.NDArray[np.float32]


class DetectorWorker:
    """Takes the newest picture only, never makes the frame's thread wait unless asked to.

    All methods belong to one thread, that of the frames. What a network raises on the other one comes out of
    the next call as ``GraphError``. ``prepare`` runs on the other thread before anything else: libraries of
    the GPU keep their tools by thread, and make them in the first run.
    """

    def __init__(
        self,
        detector: Detecting,
        recogniser: Recognising,
        clock: Clock,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        self._detector = detector
        self._recogniser = recogniser
        self._clock = clock
        self._changed = threading.Condition()
        self._free = detector.slots
        self._waiting: DetectionJob | None = None
        self._to_recognise: int | None = None
        self._newest: Detection | None = None
        self._embeddings: deque[tuple[int, Embedding]] = deque()
        self._failure: BaseException | None = None
        self._searched = 0
        self._closed = False
        self._prepare = prepare
        self._ready = False
        self._thread = threading.Thread(target=self._work, name="detector", daemon=True)
        self._thread.start()

    @property
    def searched(self) -> int:
        """How many whole pictures have been searched."""
        return self._searched

    def wait_ready(self) -> None:
        """Block until the thread has prepared itself; raises what that raised."""
        with self._changed:
            while not self._ready and self._failure is None:
                self._changed.wait()
            if self._failure is not None:
                raise self._failure

    def submit(self, frame: Frame, known: Sequence[Box], score: float) -> Submitted:
        """Have the whole picture searched; a picture that still waits for its turn is replaced."""
        with self._changed:
            self._raise_failure()
            slot = self._free.pop()
        job = self._detector.shrink(frame, slot, tuple(known), score)
        thumbnail = self._detector.thumbnail(job, frame.size)
        with self._changed:
            if self._waiting is not None:
                self._free.append(self._waiting.slot)
            self._waiting = job
            self._changed.notify_all()
        return Submitted(job.ready, thumbnail)

    def newest(self) -> Detection | None:
        """The newest finished search."""
        with self._changed:
            self._raise_failure()
            return self._newest

    def wait_for(self, seq: int, epoch: int, timeout_ns: int) -> Detection | None:
        """The newest search, waited for until it is that of frame ``seq`` or the time is up."""
        deadline = self._clock.now_ns() + timeout_ns
        with self._changed:
            while not self._has(seq, epoch):
                left = deadline - self._clock.now_ns()
                if left <= 0 or not self._clock.wait(self._changed, left):
                    break
            self._raise_failure()
            return self._newest

    def recognise(self, frame: Frame, track: int, landmarks: Landmarks) -> Event | None:
        """Ask whose face it is; None if the last question is still open, else the end of the frame's read."""
        with self._changed:
            if self._to_recognise is not None:
                return None
        read = self._recogniser.crop(frame, landmarks)
        with self._changed:
            self._to_recognise = track
            self._changed.notify_all()
        return read

    def embeddings(self) -> list[tuple[int, Embedding]]:
        """(track, embedding) answers since the last call."""
        with self._changed:
            answers = list(self._embeddings)
            self._embeddings.clear()
        return answers

    def close(self) -> None:
        """End the thread; it is left behind if it hangs."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            _log.warning("the detector hangs and is left behind")

    def _has(self, seq: int, epoch: int) -> bool:
        newest = self._newest
        done = newest is not None and newest.epoch == epoch and newest.seq >= seq
        return done or self._failure is not None

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise GraphError("the face detector failed") from self._failure

    def _work(self) -> None:
        try:
            self._get_ready()
            while self._serve():
                pass
        except Exception as error:  # thread border: whatever a network raises goes to the frame's thread
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _get_ready(self) -> None:
        if self._prepare is not None:
            self._prepare()
        with self._changed:
            self._ready = True
            self._changed.notify_all()

    def _serve(self) -> bool:
        with self._changed:
            while self._waiting is None and self._to_recognise is None and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            job, self._waiting = self._waiting, None
        if job is not None:
            self._search(job)
        else:
            self._answer()
        return True

    def _search(self, job: DetectionJob) -> None:
        faces = tuple(self._detector.find(job))
        with self._changed:
            self._newest = Detection(job.seq, job.epoch, faces)
            self._searched += 1
            self._free.append(job.slot)
            self._changed.notify_all()

    def _answer(self) -> None:
        """Recognise only when no picture waits: 14 ms here are not in any frame's way."""
        embedding = self._recogniser.embed()
        with self._changed:
            if self._to_recognise is not None:
                self._embeddings.append((self._to_recognise, embedding))
            self._to_recognise = None
