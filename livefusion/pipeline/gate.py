"""The content gate: a look at the picture once a second, beside the frame's path, and a slate on a hit."""

import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.errors import LiveFusionError, ModelError
from livefusion.core.frame import Frame
from livefusion.core.settings import GateFailure, GateSettings
from livefusion.core.timing import NANOSECONDS, Clock
from livefusion.devices.device import Device
from livefusion.media.host import HostPictures
from livefusion.ops.reference.convert import nv12_to_rgb
from livefusion.provenance.audit import Trail
from livefusion.provenance.audit_record import AuditEvent
from livefusion.runtime.alarm import Alarm

_log = logging.getLogger(__name__)

FIRST: Final = "Waiting for the content gate"
CONTENT: Final = "Withheld by the content gate"
BLIND: Final = "Withheld: the content gate fails"
LATE_SECONDS: Final = 10
_LONG_SIDE = 448
Rgb = npt.NDArray[np.uint8]


class Classifier(Protocol):
    """What the gate asks."""

    @property
    def name(self) -> str:
        """What it is called in logs."""
        ...

    def score(self, rgb: Rgb) -> float:
        """How much an (h, w, 3) picture is what must not be shown."""
        ...


@dataclass(frozen=True, slots=True)
class GateCounts:
    """What the gate saw: looks, hits, failures, and the highest score."""

    looks: int = 0
    hits: int = 0
    failures: int = 0
    highest: float = 0.0


class ContentGate:
    """Takes a picture now and then from the render thread and asks the classifier on a thread of its own.

    ``withhold`` is told the slate's text on a hit, and an empty one after ``gate_clear_looks`` clean looks.
    Each change is logged and audited. A look that is not over after ``LATE_SECONDS`` is a failure: what
    hangs must not let everything pass. In a ``patient`` run, which waits for its stages, looks are as far
    apart in the time of the video, and each is over before its picture goes on. In any other, no picture is
    shown before the first look is over (``gate_hold``): one that fails, or takes ``LATE_SECONDS``, ends that
    as ``gate_on_failure`` says.
    """

    def __init__(
        self,
        settings: GateSettings,
        classifier: Classifier,
        withhold: Callable[[str], None],
        clock: Clock,
        trail: Trail,
        *,
        patient: bool = False,
    ) -> None:
        self.counts = GateCounts()
        self._settings = settings
        self._classifier = classifier
        self._withhold = withhold
        self._clock = clock
        self._trail = trail
        self._patient = patient
        self._looked_ns: int | None = None
        self._late = False
        self._lock = threading.Lock()
        self._host: HostPictures | None = None
        self._waiting: Rgb | None = None
        self._has_work = Alarm(clock)
        self._closed = False
        self._text = FIRST if settings.gate_hold and not patient else ""
        self._clean = 0
        if self._text:
            withhold(self._text)
            _log.info("content gate: the slate is shown until %s has looked once", classifier.name)
        self._thread = threading.Thread(target=self._work, name="gate", daemon=True)
        self._thread.start()

    def offer(self, frame: Frame, device: Device) -> None:
        """Take a small copy of a picture if it is time for a look and the last one is over: 0.3 ms then."""
        now_ns = round(frame.ts.seconds * NANOSECONDS) if self._patient else self._clock.now_ns()
        # A file may go back in its own time.
        since_ns = abs(now_ns - self._looked_ns) if self._looked_ns is not None else None
        if self._waiting is not None:
            if since_ns is not None and since_ns > LATE_SECONDS * NANOSECONDS and not self._late:
                self._late = True
                self._failed(ModelError(f"{self._classifier.name} took more than {LATE_SECONDS} s"))
            return
        if since_ns is not None and since_ns < self._settings.gate_seconds * NANOSECONDS:
            return
        self._looked_ns = now_ns
        if self._host is None:
            self._host = HostPictures(device)
        picture = small_rgb(*self._host.planes(frame), frame.color)
        if self._patient:
            self._look(picture)
            return
        self._late = False
        self._waiting = picture
        self._has_work.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._has_work.set()

    def _work(self) -> None:
        while self._has_work.wait() and not self._closed:
            self._has_work.clear()
            picture = self._waiting
            if picture is not None:
                self._look(picture)
                self._waiting = None

    def _look(self, picture: Rgb) -> None:
        try:
            score = self._classifier.score(picture)
            if not math.isfinite(score):
                raise ModelError(f"{self._classifier.name} gives no score")
        except Exception as error:  # border: a network of the user's may fail in any way
            self._failed(error)
            return
        with self._lock:
            self._judge(score)

    def _judge(self, score: float) -> None:
        counts, hit = self.counts, score >= self._settings.gate_threshold
        highest = max(counts.highest, score)
        self.counts = GateCounts(counts.looks + 1, counts.hits + hit, counts.failures, highest)
        self._clean = 0 if hit else self._clean + 1
        if hit:
            self._show(CONTENT, f"{self._classifier.name} gave {score:.3f}")
        elif self._text == FIRST:
            self._show("", f"the first look was clean, {score:.3f}")
        elif self._text and self._clean >= self._settings.gate_clear_looks:
            self._show("", f"{self._clean} clean looks")

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self._count_failure(error)

    def _count_failure(self, error: Exception) -> None:
        counts = self.counts
        self.counts = GateCounts(counts.looks + 1, counts.hits, counts.failures + 1, counts.highest)
        told = error.problem if isinstance(error, LiveFusionError) else f"{type(error).__name__}: {error}"
        if not counts.failures:
            _log.error("the content gate fails (%s)", told)
            self._trail.note(AuditEvent.GATE, failed=told)
        self._clean = 0
        if self._settings.gate_on_failure is GateFailure.SLATE:
            self._show(BLIND, told)
        elif self._text == FIRST:
            self._show("", told)

    def _show(self, text: str, why: str) -> None:
        if text == self._text:
            return
        expected, self._text = self._text == FIRST and not text, text
        self._withhold(text)
        shown = "the slate" if text else "the picture"
        level = logging.INFO if expected else logging.WARNING
        _log.log(level, "content gate: %s is shown from now on (%s)", shown, why)
        self._trail.note(AuditEvent.GATE, shown=shown, why=why)


def small_rgb(luma: Rgb, chroma: Rgb, color: ColorInfo) -> Rgb:
    """A picture of at most 448 pixels a side as (h, w, 3) RGB; its own memory."""
    height, width = luma.shape
    scale = min(1.0, _LONG_SIDE / max(height, width))
    size = (max(2, round(width * scale) & ~1), max(2, round(height * scale) & ~1))
    small = cv2.resize(luma, size, interpolation=cv2.INTER_AREA)
    colours = cv2.resize(chroma, (size[0] // 2, size[1] // 2), interpolation=cv2.INTER_AREA)
    rgb = np.empty((size[1], size[0], 3), np.uint8)
    nv12_to_rgb(np.asarray(small, np.uint8), np.asarray(colours, np.uint8), rgb, color)
    return rgb
