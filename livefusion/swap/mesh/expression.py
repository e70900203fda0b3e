"""How strong each expression is in a face: MediaPipe's blendshape network on the landmarks."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session

Scores = npt.NDArray[np.float32]

POINTS = np.array(
    [
        *(0, 1, 4, 5, 6, 7, 8, 10, 13, 14, 17, 21, 33, 37, 39, 40, 46, 52, 53, 54, 55, 58, 61, 63, 65, 66),
        *(67, 70, 78, 80, 81, 82, 84, 87, 88, 91, 93, 95, 103, 105, 107, 109, 127, 132, 133, 136, 144),
        *(145, 146, 148, 149, 150, 152, 153, 154, 155, 157, 158, 159, 160, 161, 162, 163, 168, 172, 173),
        *(176, 178, 181, 185, 191, 195, 197, 234, 246, 249, 251, 263, 267, 269, 270, 276, 282, 283, 284),
        *(285, 288, 291, 293, 295, 296, 297, 300, 308, 310, 311, 312, 314, 317, 318, 321, 323, 324, 332),
        *(334, 336, 338, 356, 361, 362, 365, 373, 374, 375, 377, 378, 379, 380, 381, 382, 384, 385, 386),
        *(387, 388, 389, 390, 397, 398, 400, 402, 405, 409, 415, 454, 466, 468, 469, 470, 471, 472, 473),
        *(474, 475, 476, 477),
    ]
)
"""The landmarks that the network looks at, in its order."""
BLINKS = (9, 10)
"""Scores of closed eyes, left and right."""

EXPRESSIONS: Mapping[str, tuple[int, ...]] = {
    "smile": (44, 45),
    "open_mouth": (25,),
    "brows_up": (3, 4, 5),
}
"""The expressions that a texture can have, and the scores whose mean is the strength of each."""


class ExpressionReader:
    """Reads expressions off landmarks; 0.5 ms a face on one core of a CPU. One thread at a time.

    ``ModelError`` if the network is missing or damaged.
    """

    def __init__(self) -> None:
        self._session = Session(ModelRegistry.load()["face_blendshapes"])
        self._points = np.zeros((1, len(POINTS), 2), np.float32)
        self._session.run({"points": self._points})  # the first run takes longer than the others

    def __call__(self, landmarks: Landmarks) -> Scores:
        """The (52,) float32 blendshape scores of (478, 3) landmarks, in MediaPipe's order."""
        np.take(landmarks[:, :2], POINTS, axis=0, out=self._points[0])
        scores: Scores = self._session.run({"points": self._points})["blendshapes"].copy()
        return scores


def strength(scores: Scores, name: str) -> float:
    """How strong an expression of ``EXPRESSIONS`` is, in [0, 1]."""
    return float(np.mean([scores[index] for index in EXPRESSIONS[name]]))
