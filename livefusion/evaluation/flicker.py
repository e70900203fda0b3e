"""Is the face steady: what changes inside it from picture to picture once its motion is taken out."""

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.motion import MeshMotion
from livefusion.evaluation.view import FaceView

_LOW = 0.03
"""Standard deviation of the blur that leaves changes of light and colour alone, in widths of the face."""


class FlickerMeasure:
    """Temporal difference of the inner face's luma after motion compensation, result over input.

    Both pictures are carried along the performer's own mesh, so an error of the mesh counts for both.
    ``flicker_ratio`` has everything, grain too; ``flicker_low_ratio`` only what is broader than pores.
    """

    name = "stability"

    def __init__(self) -> None:
        self._fine: list[tuple[float, float]] = []
        self._low: list[tuple[float, float]] = []

    def add(self, view: FaceView) -> None:
        """Compare with the picture before it."""
        last = view.previous
        if last is None or last.seq != view.seq - 1 or last.before.size != view.before.size:
            return
        motion = MeshMotion(last.place, view.place, view.window)
        mask = view.skin & (motion.cover > 0)
        if not mask.any():
            return
        was, now = (
            np.where(mask, picture.luma[view.window.luma] - motion.carry(earlier.luma), 0)
            for picture, earlier in ((view.before, last.before), (view.after, last.after))
        )
        self._fine.append((_mean(now, mask), _mean(was, mask)))
        sigma = max(0.8, _LOW * view.width)
        self._low.append((_mean(_soft(now, mask, sigma), mask), _mean(_soft(was, mask, sigma), mask)))

    def figures(self) -> Figures:
        """The ratios over the clip and of the worst picture, and the differences in code values."""
        reason = "no face was swapped in two pictures in a row"
        return {
            "flicker_ratio": _ratio(self._fine, reason),
            "flicker_low_ratio": _ratio(self._low, reason),
            "difference_result": Figure.of([now for now, _ in self._fine], reason=reason),
            "difference_input": Figure.of([was for _, was in self._fine], reason=reason),
            "low_difference_result": Figure.of([now for now, _ in self._low], reason=reason),
            "low_difference_input": Figure.of([was for _, was in self._low], reason=reason),
        }


def _mean(difference: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> float:
    return float(np.abs(difference[mask]).mean())


def _soft(difference: npt.NDArray[Any], mask: npt.NDArray[np.bool_], sigma: float) -> npt.NDArray[Any]:
    """Blurred within the mask alone."""
    weight = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), sigma)
    blurred = cv2.GaussianBlur(difference.astype(np.float32), (0, 0), sigma)
    return np.asarray(blurred / np.maximum(weight, 1e-3))


def _ratio(pairs: list[tuple[float, float]], reason: str) -> Figure:
    """Sum over sum, so that a still input does not blow up one picture; worst is the 95th percentile."""
    below = sum(was for _, was in pairs)
    if not pairs or below <= 0:
        return Figure.none(reason)
    worst = float(np.percentile([now / max(was, 1e-3) for now, was in pairs], 95))
    return Figure(sum(now for now, _ in pairs) / below, worst, len(pairs))
