"""A second opinion on who it is, by a network that the product never uses: dlib's ResNet, CC0.

Faces below a distance of 0.6 are of one person (the threshold published with the network).
"""

import io
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import MachineError
from livefusion.core.face import Landmarks
from livefusion.evaluation import second_child
from livefusion.evaluation.fetch import JudgeFiles
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.view import FaceView
from livefusion.faces.landmarks import crop_photo
from livefusion.faces.roi import Roi

THRESHOLD: Final = 0.6
ABOUT: Final = {
    "network": "dlib_face_recognition_resnet_model_v1 (Davis King)",
    "licence": "CC0-1.0",
    "threshold": THRESHOLD,
}

Descriptor = npt.NDArray[np.float64]

_LENGTH = struct.Struct("<Q")
_CROP = 320
# Of the person's left eye the outer and inner corner, then of the right one, then the base of the nose.
_FIVE = (263, 362, 33, 133, 2)


class Judge(Protocol):
    """What describes faces so that distances tell people apart."""

    def describe(self, faces: list[tuple[Rgb, Landmarks]]) -> Descriptor:
        """(n, 128) descriptors of faces in pictures."""
        ...


class SecondJudge:
    """The network in a process of its own; used as a context. ``MachineError`` if the process fails."""

    def __init__(self, files: JudgeFiles) -> None:
        environment = os.environ | {"PYTHONPATH": str(files.library)}
        script = Path(second_child.__file__)
        self._process = subprocess.Popen(
            [sys.executable, str(script), str(files.network)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def __enter__(self) -> "SecondJudge":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def describe(self, faces: list[tuple[Rgb, Landmarks]]) -> Descriptor:
        """(n, 128) descriptors of faces in pictures."""
        crops = [_crop(rgb, landmarks) for rgb, landmarks in faces]
        content = io.BytesIO()
        np.savez(
            content,
            faces=np.array([crop for crop, _ in crops], np.uint8),
            points=np.array([points for _, points in crops]),
        )
        return self._ask(content.getvalue())

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, message: bytes) -> Descriptor:
        assert self._process.stdin is not None, "the process has pipes"
        assert self._process.stdout is not None, "the process has pipes"
        try:
            self._process.stdin.write(_LENGTH.pack(len(message)) + message)
            self._process.stdin.flush()
            head = self._process.stdout.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                raise BrokenPipeError
            answer = self._process.stdout.read(_LENGTH.unpack(head)[0])
        except BrokenPipeError as error:
            raise MachineError("the second judge ended", "delete its folder in the user's cache") from error
        with np.load(io.BytesIO(answer)) as arrays:
            return np.asarray(arrays["descriptors"], np.float64)


class SecondIdentityMeasure:
    """Distances of the result to the source and to the performer."""

    name = "second_judge"

    def __init__(self, judge: Judge, source: Descriptor | None, every: int = 1) -> None:
        self._judge = judge
        self._source = source
        self._every = every
        self._to_source: list[float] = []
        self._to_performer: list[float] = []
        self._before: list[float] = []

    def add(self, view: FaceView) -> None:
        """Describe the face before and after, in each so many pictures."""
        if view.seq % self._every:
            return
        performer, result = self._judge.describe([(view.before.rgb, view.was), (view.after.rgb, view.now)])
        self._to_performer.append(float(np.linalg.norm(result - performer)))
        if self._source is not None:
            self._to_source.append(float(np.linalg.norm(result - self._source)))
            self._before.append(float(np.linalg.norm(performer - self._source)))

    def figures(self) -> Figures:
        """Mean and worst distances, and the share of faces that pass the threshold."""
        reason = "the source has no picture" if self._to_performer else "no face was swapped"
        return {
            "distance_source": Figure.of(self._to_source, reason=reason),
            "distance_performer": Figure.of(self._to_performer, worst="min", reason=reason),
            "performer_to_source": Figure.of(self._before, worst="min", reason=reason),
            "is_source_share": _share(self._to_source, reason),
            "is_performer_share": _share(self._to_performer, reason),
        }


def _share(distances: list[float], reason: str) -> Figure:
    if not distances:
        return Figure.none(reason)
    return Figure.single(float(np.mean(np.array(distances) < THRESHOLD)), len(distances))


def _crop(rgb: Rgb, landmarks: Landmarks) -> tuple[Rgb, npt.NDArray[np.float64]]:
    """An upright square crop, and the five points in it."""
    to_crop = Roi.of_landmarks(landmarks).to_crop(_CROP)
    crop = crop_photo(rgb, to_crop, _CROP)
    return crop, to_crop(landmarks[list(_FIVE), :2].astype(np.float64))
