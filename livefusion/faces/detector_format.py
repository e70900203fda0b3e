"""What a face detector takes and gives: its picture, its tensors, and how they are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Box, Size
from livefusion.faces.associate import iou_matrix
from livefusion.ops.preprocess import Normalisation

Tensors = Mapping[str, npt.NDArray[np.floating]]


class Decoder(Protocol):
    """Reads the outputs for pictures of one size."""

    def __call__(
        self, outputs: Tensors, to_frame: Affine, threshold: float, overlap: float = 0.3
    ) -> list[FaceObservation]:
        """Faces with a score of at least ``threshold``, best first, in frame pixels.

        ``to_frame`` maps input to frame pixels; it may turn by multiples of 90°. Of boxes that overlap by
        more than ``overlap`` (IoU) the best is kept.
        """
        ...


@dataclass(frozen=True, slots=True)
class DetectorFormat:
    """A family of detectors.

    ``landscape`` and ``portrait`` are the pictures it sees live, ``normalisation`` how they are coloured;
    ``outputs`` gives the shapes for a picture of some size, by names of ours, ``decoder`` what reads them.
    """

    name: str
    landscape: Size
    portrait: Size
    normalisation: Normalisation
    outputs: Callable[[Size], dict[str, tuple[int, ...]]]
    decoder: Callable[[Size], Decoder]

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The pictures it sees, each once."""
        return tuple(dict.fromkeys((self.landscape, self.portrait)))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Boxes before suppression: (n, 4) corners, (n, 5, 2) keypoints in input pixels, (n,) scores."""

    corners: npt.NDArray[np.float64]
    keypoints: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]


def observed(found: list[Candidates], to_frame: Affine, overlap: float) -> list[FaceObservation]:
    """The candidates that no better one overlaps, best first, in frame pixels."""
    corners = np.concatenate([one.corners for one in found])
    if not len(corners):
        return []
    scores = np.concatenate([one.scores for one in found])
    keypoints = np.concatenate([one.keypoints for one in found])
    return [
        _observation(corners[index], keypoints[index], float(scores[index]), to_frame)
        for index in suppress(corners, scores, overlap)
    ]


def suppress(corners: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], overlap: float) -> list[int]:
    """Indices of the boxes that no better box overlaps by more than ``overlap``, best first."""
    order = np.argsort(-scores, kind="stable")
    clashes = iou_matrix(corners, corners) > overlap
    kept: list[int] = []
    for index in order.tolist():
        if not clashes[index, kept].any():
            kept.append(index)
    return kept


def cells(size: Size, stride: int) -> npt.NDArray[np.float64]:
    """(n, 2) column and row of each cell of a map of a picture of ``size``, row by row."""
    columns, rows = np.meshgrid(np.arange(size.width // stride), np.arange(size.height // stride))
    return np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float64)


def _observation(
    corners: npt.NDArray[np.float64], keypoints: npt.NDArray[np.float64], score: float, to_frame: Affine
) -> FaceObservation:
    box = Box.around(to_frame(corners.reshape(2, 2)))
    return FaceObservation(box, min(score, 1.0), to_frame(keypoints).astype(np.float32))
