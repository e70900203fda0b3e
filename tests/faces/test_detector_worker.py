"""The thread beside the frames: newest wins, nobody waits unless asked to, failures come out."""

import threading
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import GraphError, OutOfMemoryError
from livefusion.core.face import FaceObservation
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Box, Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.faces.detect import DetectionJob, Slot
from livefusion.faces.detector_worker import DetectorWorker

pytestmark = pytest.mark.chaos

SECOND = 1_000_000_000


class HeldDetector:
    """Answers when the test opens the gate."""

    def __init__(self) -> None:
        self.slots = [Slot({}) for _ in range(3)]
        self.gate = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)
        self.searched: list[int] = []
        self.error: BaseException | None = None

    def shrink(self, frame: Frame, slot: Slot, known: tuple[Box, ...], score: float) -> DetectionJob:
        event = CpuDevice().stream("x").record()
        return DetectionJob(
            frame.seq, frame.epoch, slot, frame.size, event, Affine(np.eye(2, 3)), known, score
        )

    def thumbnail(self, job: DetectionJob, size: Size) -> Any:
        return np.zeros((18, 32), np.float32)

    def find(self, job: DetectionJob) -> list[FaceObservation]:
        self.entered.release()
        self.gate.acquire()
        if self.error is not None:
            raise self.error
        self.searched.append(job.seq)
        return [FaceObservation(Box(job.seq, 0, 10, 10), 0.9)]


class Recogniser:
    def __init__(self) -> None:
        self.crops = 0

    def crop(self, frame: Frame, landmarks: Any) -> Any:
        self.crops += 1
        return CpuDevice().stream("x").record()

    def embed(self) -> Any:
        return np.full(128, self.crops, np.float32)


def frame(seq: int, epoch: int = 0) -> Frame:
    stamp = Timestamp(seq, Fraction(1, 30))
    buffer: Any = SimpleNamespace(device="cpu", ready=None)
    return Frame(seq, "test", stamp, 0, Size(64, 64), ColorInfo(), buffer, epoch)


@pytest.fixture
def detector() -> HeldDetector:
    return HeldDetector()


@pytest.fixture
def worker(detector: HeldDetector) -> Any:
    worker = DetectorWorker(detector, Recogniser(), SystemClock())
    yield worker
    detector.gate.release(1000)
    worker.close()


def test_newest_picture_wins_and_submit_never_waits(worker: DetectorWorker, detector: HeldDetector) -> None:
    worker.submit(frame(0), (), 0.6)
    assert detector.entered.acquire(timeout=5)
    for seq in range(1, 50):
        worker.submit(frame(seq), (), 0.6)
    assert worker.newest() is None
    detector.gate.release(2)
    newest = worker.wait_for(49, 0, 5 * SECOND)
    assert newest is not None
    assert newest.seq == 49
    assert newest.faces[0].box.x == 49
    assert detector.searched == [0, 49]
    assert worker.searched == 2


def test_waiting_ends_with_the_time(worker: DetectorWorker, detector: HeldDetector) -> None:
    worker.submit(frame(0), (), 0.6)
    assert worker.wait_for(0, 0, SECOND // 100) is None
    detector.gate.release()
    assert worker.wait_for(0, 0, 5 * SECOND) is not None
    assert worker.wait_for(3, 1, 0) is not None  # the newest, though it is another epoch's


def test_it_prepares_itself_on_its_own_thread() -> None:
    names: list[str] = []
    worker = DetectorWorker(
        HeldDetector(), Recogniser(), SystemClock(), lambda: names.append(threading.current_thread().name)
    )
    worker.wait_ready()
    assert names == ["detector"]
    worker.close()


def test_what_cannot_be_prepared_comes_out_as_it_is() -> None:
    fault = OutOfMemoryError("the GPU is full")

    def fail() -> None:
        raise fault

    worker = DetectorWorker(HeldDetector(), Recogniser(), SystemClock(), fail)
    with pytest.raises(OutOfMemoryError) as caught:
        worker.wait_ready()
    assert caught.value is fault
    worker.close()


def test_what_the_network_raises_comes_out(worker: DetectorWorker, detector: HeldDetector) -> None:
    detector.error = ValueError("broken")
    detector.gate.release()
    worker.submit(frame(0), (), 0.6)
    with pytest.raises(GraphError, match="detector failed") as caught:
        worker.wait_for(0, 0, 5 * SECOND)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(GraphError):
        worker.submit(frame(1), (), 0.6)


def test_recognition_waits_for_detection_and_takes_one_question(
    worker: DetectorWorker, detector: HeldDetector
) -> None:
    worker.submit(frame(0), (), 0.6)
    assert detector.entered.acquire(timeout=5)
    landmarks = np.zeros((478, 3), np.float32)
    assert worker.recognise(frame(0), 7, landmarks) is not None
    assert worker.recognise(frame(0), 8, landmarks) is None
    assert worker.embeddings() == []
    detector.gate.release()
    answers: list[tuple[int, Any]] = []
    for seq in range(
        1, 200
    ):  # each round gives the thread a picture and, between two of them, time for a face
        detector.gate.release()
        worker.submit(frame(seq), (), 0.6)
        worker.wait_for(seq, 0, 5 * SECOND)
        answers += worker.embeddings()
        if answers:
            break
    assert [track for track, _ in answers] == [7]


def test_close_ends_the_thread(detector: HeldDetector) -> None:
    worker = DetectorWorker(detector, Recogniser(), SystemClock())
    detector.gate.release(10)
    worker.submit(frame(0), (), 0.6)
    worker.close()
    assert not worker._thread.is_alive()
