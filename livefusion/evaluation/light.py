"""Is the new face lit like the scene: as bright at any time, and in the same shading."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.picture import Floats
from livefusion.evaluation.view import FaceView, Mask

_BLACK = 16
_SHADING = 0.1
"""Standard deviation of the blur that leaves only shading, in widths of the face."""
_GRID = 48
"""Pixels across the window in which shading is compared."""
_LEAST_CHANGE, _LEAST_SHADING = 0.5, 1.0
"""Standard deviations in code values below which there is nothing to follow: in time, and over the face."""
_FEWEST, _FLAT = 3, 1e-3


class LightMeasure:
    """Luma of the inner face's skin, result against input.

    ``luma_error`` is by how many percent its mean differs from the input's in the same picture: a face that
    comes after a flash has it in its worst. ``following`` is the correlation of its mean's changes from
    picture to picture with the input's, where there are any; ``shading`` that of its low-passed luma over the
    face.
    """

    name = "light"

    def __init__(self) -> None:
        self._errors: list[float] = []
        self._shadings: list[float] = []
        self._changes: list[tuple[float, float]] = []
        self._last: dict[int, tuple[int, float, float]] = {}

    def add(self, view: FaceView) -> None:
        """Compare the pictures, and how they differ from those before them."""
        mask = view.skin if view.alpha is None else view.skin & (view.alpha > 0)
        if not mask.any():
            return
        was, now = (picture.luma[view.window.luma] for picture in (view.before, view.after))
        before, after = float(was[mask].mean()), float(now[mask].mean())
        self._errors.append(100 * abs(after - before) / max(before - _BLACK, 1.0))
        shading = _correlation(
            _shading(was, mask, view.width), _shading(now, mask, view.width), _LEAST_SHADING
        )
        if shading is not None:
            self._shadings.append(shading)
        seq, *earlier = self._last.get(view.key, (None, before, after))
        if seq == view.seq - 1:
            self._changes.append((before - earlier[0], after - earlier[1]))
        self._last[view.key] = (view.seq, before, after)

    def figures(self) -> Figures:
        """Means over the clip; ``following`` is one number for all of it."""
        return {
            "luma_error": Figure.of(self._errors, reason="no face was swapped"),
            "following": self._following(),
            "shading": Figure.of(self._shadings, worst="min", reason="no face has any shading"),
        }

    def _following(self) -> Figure:
        changes = np.array(self._changes).reshape(-1, 2)
        found = _correlation(changes[:, 0], changes[:, 1], _LEAST_CHANGE)
        return Figure.none("the light is steady") if found is None else Figure.single(found, len(changes))


def _shading(luma: npt.NDArray[np.uint8], mask: Mask, width: float) -> Floats:
    """The low-passed luma of the pixels of a mask, on a small grid, as a list."""
    scale = _GRID / luma.shape[1]
    size = (_GRID, max(1, round(luma.shape[0] * scale)))
    sigma = _SHADING * width * scale
    weight = mask.astype(np.float32)
    soft = [
        cv2.GaussianBlur(cv2.resize(plane, size, interpolation=cv2.INTER_AREA), (0, 0), sigma)
        for plane in (luma * weight, weight)
    ]
    inside = cv2.resize(weight, size, interpolation=cv2.INTER_AREA) > 0.5
    return np.asarray((soft[0] / np.maximum(soft[1], 1e-3))[inside], np.float32)


def _correlation(
    one: npt.NDArray[np.floating], other: npt.NDArray[np.floating], least: float
) -> float | None:
    """Of two lists; 0 where the second does not vary, None where the first one varies less than ``least``."""
    if len(one) < _FEWEST or one.std() < least:
        return None
    return float(np.corrcoef(one, other)[0, 1]) if other.std() > _FLAT else 0.0
