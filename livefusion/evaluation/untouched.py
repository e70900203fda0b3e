"""Is anything changed that is no face."""

from collections.abc import Sequence

import cv2
import numpy as np

from livefusion.core.face import Landmarks
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.tap import Pair
from livefusion.evaluation.view import hull

GROWTH = 1.15
"""The new face may be wider than the old one by so much."""


class UntouchedMeasure:
    """Pixels that differ beyond the outlines of the performers, as a share of all pixels there."""

    name = "untouched"

    def __init__(self) -> None:
        self._shares: list[float] = []
        self._pixels = 0

    def add(self, pair: Pair, faces: Sequence[Landmarks]) -> None:
        """Look at a picture in which every face was swapped."""
        outside = np.ones(pair.before.luma.shape, np.uint8)
        for landmarks in faces:
            cv2.fillConvexPoly(outside, hull(landmarks, GROWTH), 0)
        changed = int(np.count_nonzero(pair.after.changed_from(pair.before) & (outside > 0)))
        self._pixels += changed
        self._shares.append(changed / max(1, int(np.count_nonzero(outside))))

    def figures(self) -> Figures:
        """The share, and the pixels of all pictures together."""
        if not self._shares:
            return {"changed_outside": Figure.none("no picture had all its faces swapped")}
        return {
            "changed_outside": Figure.of(self._shares),
            "changed_pixels": Figure.single(self._pixels, len(self._shares)),
        }
