"""What the tensors of SCRFD mean (Guo et al., "Sample and Computation Redistribution", ICLR 2022).

InsightFace's ``det_10g``, also passed round as RetinaFace, is one. For each stride there are two anchors a
cell, on its corner, with a score, the distances to the box's sides and five points, in strides.
"""

import numpy as np

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Size
from livefusion.faces.detector_format import Candidates, DetectorFormat, Tensors, cells, observed
from livefusion.ops.preprocess import Normalisation

STRIDES = (8, 16, 32)
ANCHORS = 2
CHANNELS = {"score": 1, "bbox": 4, "kps": 10}

NORMALISATION = Normalisation(mean=127.5, scale=1 / 128, order="rgb")


class ScrfdDecoder:
    """Turns the outputs for a picture of one size into faces; the anchors are laid out once."""

    def __init__(self, size: Size) -> None:
        self._anchors = {stride: np.repeat(cells(size, stride), ANCHORS, axis=0) for stride in STRIDES}

    @staticmethod
    def output_shapes(size: Size) -> dict[str, tuple[int, ...]]:
        """Shapes of the nine outputs for a picture of ``size``, whose sides are multiples of 32."""
        return {
            f"{kind}_{stride}": (ANCHORS * (size.width // stride) * (size.height // stride), depth)
            for kind, depth in CHANNELS.items()
            for stride in STRIDES
        }

    def __call__(
        self, outputs: Tensors, to_frame: Affine, threshold: float, overlap: float = 0.3
    ) -> list[FaceObservation]:
        """What ``Decoder`` says; the outputs may have an axis for the batch before theirs."""
        found = [self._decode(outputs, stride, threshold) for stride in STRIDES]
        return observed(found, to_frame, overlap)

    def _decode(self, outputs: Tensors, stride: int, threshold: float) -> Candidates:
        scores = outputs[f"score_{stride}"].reshape(-1)
        (likely,) = np.nonzero(scores >= threshold)
        anchors = self._anchors[stride][likely]
        sides = outputs[f"bbox_{stride}"].reshape(-1, 4)[likely].astype(np.float64)
        corners = np.concatenate([anchors - sides[:, :2], anchors + sides[:, 2:]], axis=1)
        points = outputs[f"kps_{stride}"].reshape(-1, 5, 2)[likely].astype(np.float64) + anchors[:, None]
        return Candidates(corners * stride, points * stride, scores[likely].astype(np.float64))


def scrfd(landscape: Size, portrait: Size, *, batch_axis: bool = False) -> DetectorFormat:
    """The format for pictures of these sizes; some exports have an axis for the batch, most do not."""

    def outputs(size: Size) -> dict[str, tuple[int, ...]]:
        lead = (1,) if batch_axis else ()
        return {name: (*lead, *shape) for name, shape in ScrfdDecoder.output_shapes(size).items()}

    return DetectorFormat("scrfd", landscape, portrait, NORMALISATION, outputs, ScrfdDecoder)
