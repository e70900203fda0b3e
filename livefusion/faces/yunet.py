"""What the tensors of YuNet mean (Wu, Peng and Yu, "YuNet", MIR 2023; OpenCV Zoo)."""

import numpy as np

from livefusion.core.face import FaceObservation
from livefusion.core.geometry import Affine, Size
from livefusion.faces.detector_format import Candidates, DetectorFormat, Tensors, cells, observed
from livefusion.ops.preprocess import Normalisation

_STRIDES = (8, 16, 32)
MULTIPLE = 32
"""Both sides of the network's picture are multiples of this."""


class YuNetDecoder:
    """Turns the outputs for a picture of one size into faces; the cells are laid out once."""

    def __init__(self, size: Size) -> None:
        self._cells = {stride: cells(size, stride) for stride in _STRIDES}

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
        """What ``Decoder`` says."""
        found = [self._decode(outputs, stride, threshold) for stride in _STRIDES]
        return observed(found, to_frame, overlap)

    def _decode(self, outputs: Tensors, stride: int, threshold: float) -> Candidates:
        # The int8 weights overshoot [0, 1] by rounding.
        certainty = np.clip(outputs[f"cls_{stride}"][0, :, 0], 0, 1)
        certainty = certainty * np.clip(outputs[f"obj_{stride}"][0, :, 0], 0, 1)
        (likely,) = np.nonzero(certainty >= threshold * threshold)
        places = self._cells[stride][likely]
        box = outputs[f"bbox_{stride}"][0, likely].astype(np.float64)
        centre, sides = places + box[:, :2], np.exp(box[:, 2:])
        corners = np.concatenate([centre - sides / 2, centre + sides / 2], axis=1)
        keypoints = outputs[f"kps_{stride}"][0, likely].reshape(-1, 5, 2) + places[:, None]
        return Candidates(corners * stride, keypoints * stride, np.sqrt(certainty[likely], dtype=np.float64))


LANDSCAPE, PORTRAIT = Size(320, 192), Size(192, 320)
"""What the network sees live, as the picture lies: 1.3 ms, and a face of 18 px in it is found."""

YUNET = DetectorFormat(
    "yunet", LANDSCAPE, PORTRAIT, Normalisation(), YuNetDecoder.output_shapes, YuNetDecoder
)
