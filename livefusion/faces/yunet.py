"""What the tensors of YuNet mean (Wu, Peng and Yu, "YuNet", MIR 2023; OpenCV Zoo)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Box, Size
from livefusion.faces.associate import iou_matrix

_STRIDES = (8, 16, 32)
MULTIPLE = 32
"""Both sides of the network's picture are multiples of this."""

Tensors = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Boxes before suppression: (n, 4) corners, (n, 5, 2) keypoints in input pixels, (n,) scores."""

    corners: npt.NDArray[np.float64]
    keypoints: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]


class YuNetDecoder:
    """Turns the outputs for a picture of one size into faces; the cells are laid out once."""

    def __init__(self, size: Size) -> None:
        self._cells = {stride: _cells(size, stride) for stride in _STRIDES}

    @staticmethod
    def output_shapes(size: Size) -> dict[str, tuple[int, ...]]:
        """Shapes of the twelve outputs for a picture of ``size``, whose sides are multiples of 32."""
        counts = {stride: (size.width // stride) * (size.height // stride) for stride in _STRIDES}
        channels = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
        return {
            f"{kind}_{stride}": (1, counts[stride], depth)
            for kind, depth in channels.items()
            for stride in _STRIDES
        }

    def __call__(
        self, outputs: Tensors, to_frame: Affine, threshold: float, overlap: float = 0.3
    ) -> list[FaceObservation]:
        """Faces with a score of at least ``threshold``, best first, in frame pixels.

        ``to_frame`` maps input to frame pixels; it may turn by multiples of 90°. Of boxes that overlap by
        more than ``overlap`` (IoU) the best is kept.
        """
        found = [self._decode(outputs, stride, threshold) for stride in _STRIDES]
        corners = np.concatenate([one.corners for one in found])
        if not len(corners):
            return []
        scores = np.concatenate([one.scores for one in found])
        keypoints = np.concatenate([one.keypoints for one in found])
        return [
            _observation(corners[index], keypoints[index], float(scores[index]), to_frame)
            for index in suppress(corners, scores, overlap)
        ]

    def _decode(self, outputs: Tensors, stride: int, threshold: float) -> Candidates:
        # The int8 weights overshoot [0, 1] by rounding.
        certainty = np.clip(outputs[f"cls_{stride}"][0, :, 0], 0, 1)
        certainty = certainty * np.clip(outputs[f"obj_{stride}"][0, :, 0], 0, 1)
        (likely,) = np.nonzero(certainty >= threshold * threshold)
        cells = self._cells[stride][likely]
        box = outputs[f"bbox_{stride}"][0, likely].astype(np.float64)
        centre, sides = cells + box[:, :2], np.exp(box[:, 2:])
        corners = np.concatenate([centre - sides / 2, centre + sides / 2], axis=1)
        keypoints = outputs[f"kps_{stride}"][0, likely].reshape(-1, 5, 2) + cells[:, None]
        return Candidates(corners * stride, keypoints * stride, np.sqrt(certainty[likely], dtype=np.float64))


def suppress(corners: npt.NDArray[np.float64], scores: npt.NDArray[np.float64], overlap: float) -> list[int]:
    """Indices of the boxes that no better box overlaps by more than ``overlap``, best first."""
    order = np.argsort(-scores, kind="stable")
    clashes = iou_matrix(corners, corners) > overlap
    kept: list[int] = []
    for index in order.tolist():
        if not clashes[index, kept].any():
            kept.append(index)
    return kept


def _cells(size: Size, stride: int) -> npt.NDArray[np.float64]:
    columns, rows = np.meshgrid(np.arange(size.width // stride), np.arange(size.height // stride))
    return np.column_stack([columns.ravel(), rows.ravel()]).astype(np.float64)


def _observation(
    corners: npt.NDArray[np.float64], keypoints: npt.NDArray[np.float64], score: float, to_frame: Affine
) -> FaceObservation:
    box = Box.around(to_frame(corners.reshape(2, 2)))
    return FaceObservation(box, min(score, 1.0), to_frame(keypoints).astype(np.float32))
