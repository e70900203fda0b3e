"""The networks that the stage of the faces looks with, as far as it needs to know them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box
from livefusion.faces.detector_worker import Detection, Submitted
from livefusion.faces.landmarks import FaceMesh
from livefusion.faces.recognise import Questions
from livefusion.faces.roi import Roi


class Searching(Questions, Protocol):
    """The part of ``DetectorWorker`` that the stage needs."""

    @property
    def searched(self) -> int:
        """How many whole pictures have been searched."""
        ...

    def submit(self, frame: Frame, known: Sequence[Box], score: float) -> Submitted:
        """Have the whole picture searched."""
        ...

    def newest(self) -> Detection | None:
        """The newest finished search."""
        ...

    def wait_for(self, seq: int, epoch: int, timeout_ns: int) -> Detection | None:
        """The newest search, waited for until it is that of frame ``seq`` or the time is up."""
        ...

    def close(self) -> None:
        """End the thread."""
        ...


class Finding(Protocol):
    """The part of ``Landmarker`` that the stage needs."""

    def find(self, frame: Frame, rois: Sequence[Roi]) -> list[FaceMesh]:
        """The mesh in each region."""
        ...


class Aligning(Protocol):
    """The part of ``LivePoints`` that the stage needs."""

    def align(self, frame: Frame, tracks: Sequence[FaceTrack]) -> Sequence[npt.NDArray[np.float64] | None]:
        """The alignment points of each track, as far as they are known."""
        ...


@dataclass(frozen=True, slots=True)
class Eyes:
    """The networks at work; made when the stage opens, closed when it closes."""

    search: Searching
    landmarks: Finding
    points: Aligning | None = None
