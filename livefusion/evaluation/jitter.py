"""Does the face tremble where the performer holds still and only the sensor's noise moves."""

import numpy as np

from livefusion.core.face import Landmarks
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.flicker import FlickerMeasure
from livefusion.evaluation.view import FaceView

_SETTLED = 8
"""Pictures after which filters over time have settled."""


class JitterMeasure:
    """How far landmarks of a still face stray from their mean over time, in per cent of the eye distance."""

    name = "still"

    def __init__(self) -> None:
        self._flicker = FlickerMeasure()
        self._was: list[Landmarks] = []
        self._now: list[Landmarks] = []
        self._eyes: list[float] = []

    def add(self, view: FaceView) -> None:
        """Take in one picture of the still face."""
        if view.seq < _SETTLED:
            return
        self._flicker.add(view)
        self._was.append(view.was)
        self._now.append(view.now)
        self._eyes.append(view.eye_distance)

    def figures(self) -> Figures:
        """Jitter of the result and of the input, and the flicker between pictures that differ by noise."""
        if len(self._now) < 3:
            none = Figure.none("the still face was not swapped")
            return {"jitter": none, "jitter_input": none, "flicker_ratio": none, "flicker_low_ratio": none}
        scale, count = float(np.mean(self._eyes)), len(self._now)
        flicker = self._flicker.figures()
        return {
            "jitter": Figure.single(trembling(self._now) / scale * 100, count),
            "jitter_input": Figure.single(trembling(self._was) / scale * 100, count),
            "flicker_ratio": flicker["flicker_ratio"],
            "flicker_low_ratio": flicker["flicker_low_ratio"],
        }


def trembling(frames: list[Landmarks]) -> float:
    """Root mean square over points of how far each is from its own mean over time, in pixels."""
    places = np.stack(frames)[..., :2].astype(np.float64)
    return float(np.sqrt(((places - places.mean(axis=0)) ** 2).sum(axis=2).mean()))
