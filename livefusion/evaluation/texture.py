"""Is the new face as sharp and as grainy as the picture it is in."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.picture import Floats
from livefusion.evaluation.view import FaceView, Mask

_DETAIL = 1.2
"""Standard deviation in pixels of the blur that keeps grain out of the sharpness."""
_FLAT_SHARE = 0.5
"""Grain is measured on the flatter half of the skin."""
_MAD_TO_STD = 1.4826


class TextureMeasure:
    """Gradient energy and high-pass residual of the inner skin, result over input.

    The ``inside_outside`` figures compare the result's skin with what is round the face in the same picture.
    """

    name = "texture"

    def __init__(self) -> None:
        self._rows: dict[str, list[float]] = {}

    def add(self, view: FaceView) -> None:
        """Measure both pictures."""
        inside = view.skin
        outside = np.zeros_like(inside) if view.alpha is None else np.asarray(view.alpha == 0, np.bool_)
        was, now = (picture.luma[view.window.luma] for picture in (view.before, view.after))
        if not inside.any():
            return
        for name, measure in (("sharpness", sharpness), ("grain", grain)):
            before, after = measure(was, inside), measure(now, inside)
            self._note(f"{name}_ratio", after, before)
            if outside.any():
                self._note(f"{name}_inside_outside", after, measure(now, outside))
                self._note(f"{name}_inside_outside_input", before, measure(was, outside))

    def figures(self) -> Figures:
        """Ratios; 1 is as it was, the least is worst."""
        names = ("sharpness_ratio", "grain_ratio")
        found = {name: Figure.of(self._rows.get(name, []), worst="min") for name in names}
        return found | {
            name: Figure.of(values, worst="min") for name, values in self._rows.items() if name not in names
        }

    def _note(self, name: str, value: float, against: float) -> None:
        self._rows.setdefault(name, []).append(value / max(against, 1e-3))


def sharpness(luma: npt.NDArray[np.uint8], mask: Mask) -> float:
    """Mean gradient in code values a pixel, fine grain left out."""
    return float(_gradient(luma)[mask].mean())


def grain(luma: npt.NDArray[np.uint8], mask: Mask) -> float:
    """Standard deviation in code values of what a narrow blur takes away, on the flatter half of the mask."""
    plane = luma.astype(np.float32)
    residual = plane - cv2.GaussianBlur(plane, (0, 0), 1.0)
    slope = _gradient(luma)
    flat = mask & (slope <= np.quantile(slope[mask], _FLAT_SHARE))
    values = residual[flat]
    return float(np.median(np.abs(values - np.median(values))) * _MAD_TO_STD)


def _gradient(luma: npt.NDArray[np.uint8]) -> Floats:
    soft = cv2.GaussianBlur(luma.astype(np.float32), (0, 0), _DETAIL)
    across = cv2.Sobel(soft, cv2.CV_32F, 1, 0, scale=1 / 8)
    down = cv2.Sobel(soft, cv2.CV_32F, 0, 1, scale=1 / 8)
    return np.asarray(np.hypot(across, down), np.float32)
