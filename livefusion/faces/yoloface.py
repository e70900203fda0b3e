"""What the tensor of YOLO-face means: YOLOv8 trained for faces, with five points (derronqi/yolov8-face)."""

import numpy as np

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Size
from livefusion.faces.detector_format import Candidates, DetectorFormat, Tensors, observed
from livefusion.ops.preprocess import Normalisation

STRIDES = (8, 16, 32)
OUTPUT = "found"
ROWS = 20
"""Centre x and y, width and height, score, and five times x, y and certainty; in pixels of the input."""

NORMALISATION = Normalisation(scale=1 / 255, order="rgb")


class YoloFaceDecoder:
    """Turns the output for a picture into faces; it holds pixels, so the size does not matter."""

    def __init__(self, size: Size) -> None:
        self._size = size

    @staticmethod
    def output_shapes(size: Size) -> dict[str, tuple[int, ...]]:
        """Shape of the output for a picture of ``size``, whose sides are multiples of 32."""
        count = sum((size.width // stride) * (size.height // stride) for stride in STRIDES)
        return {OUTPUT: (1, ROWS, count)}

    def __call__(
        self, outputs: Tensors, to_frame: Affine, threshold: float, overlap: float = 0.3
    ) -> list[FaceObservation]:
        """What ``Decoder`` says."""
        rows = outputs[OUTPUT][0]
        (likely,) = np.nonzero(rows[4] >= threshold)
        kept = rows[:, likely].astype(np.float64)
        centre, half = kept[:2].T, kept[2:4].T / 2
        points = kept[5:].reshape(5, 3, -1)[:, :2].transpose(2, 0, 1)
        corners = np.concatenate([centre - half, centre + half], axis=1)
        return observed([Candidates(corners, points, kept[4])], to_frame, overlap)


def yolo_face(landscape: Size, portrait: Size) -> DetectorFormat:
    """The format for pictures of these sizes."""
    return DetectorFormat(
        "yolo_face", landscape, portrait, NORMALISATION, YoloFaceDecoder.output_shapes, YoloFaceDecoder
    )
