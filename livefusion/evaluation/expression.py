"""Is the performer's expression kept: landmarks, gaze and blinks of the result against the performer's."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.view import FaceView
from livefusion.faces.points import LEFT_EYE_CORNERS, LEFT_IRIS, RIGHT_EYE_CORNERS, RIGHT_IRIS
from livefusion.swap.mesh.canonical import INNER_LIPS, LEFT_EYE, OUTER_EYE_CORNERS, OUTER_LIPS, RIGHT_EYE

_EYES, _MOUTH = [*LEFT_EYE, *RIGHT_EYE], [*OUTER_LIPS, *INNER_LIPS]
# Corners, and pairs of points on the upper and lower lid, of the eyes at the left and right of the picture.
_LIDS = (
    (LEFT_EYE_CORNERS, ((160, 144), (159, 145), (158, 153))),
    (RIGHT_EYE_CORNERS, ((387, 373), (386, 374), (385, 380))),
)
_IRISES = ((LEFT_EYE_CORNERS, LEFT_IRIS), (RIGHT_EYE_CORNERS, RIGHT_IRIS))
# A lid is closed below the first and open above the second share of what it is usually open at, the median
# over the clip; between them, where a squint and the network's own error lie, it is neither.
_CLOSED, _OPEN = 0.55, 0.75
_FEWEST = 2


class ExpressionMeasure:
    """Errors in per cent of the distance between the eyes' outer corners; gaze of an eye's width.

    ``error`` counts all by which the landmarks differ, so also that the new face has brows of its own shape.
    ``variation`` is what is left of it without each landmark's mean offset over the clip: how far the
    expression strays, whatever the shape.
    """

    name = "expression"

    def __init__(self) -> None:
        self._all: list[float] = []
        self._eyes: list[float] = []
        self._mouth: list[float] = []
        self._true: list[float] = []
        self._offsets: dict[int, list[npt.NDArray[np.float32]]] = {}
        self._gaze: dict[int, list[float]] = {}
        self._open: dict[int, list[tuple[float, float]]] = {}

    def add(self, view: FaceView) -> None:
        """Compare the landmarks."""
        scale = view.eye_distance
        self._all.append(landmark_error(view.now, view.was, scale))
        self._eyes.append(landmark_error(view.now[_EYES], view.was[_EYES], scale))
        self._mouth.append(landmark_error(view.now[_MOUTH], view.was[_MOUTH], scale))
        self._offsets.setdefault(view.key, []).append(offsets_of(view.now, view.was))
        if view.true is not None:
            self._true.append(landmark_error(view.now, view.true, scale))
        gaze = np.hypot(*(gaze_of(view.now) - gaze_of(view.was)).T).mean() * 100
        self._gaze.setdefault(view.key, []).append(float(gaze))
        self._open.setdefault(view.key, []).append((openness(view.was), openness(view.now)))

    def figures(self) -> Figures:
        """The errors, and how often the lids do not contradict each other."""
        lids = [pair for values in self._open.values() for pair in _in_shares(values)]
        closed = [now < _OPEN for was, now in lids if was < _CLOSED]
        agree = [
            not ((was < _CLOSED and now > _OPEN) or (was > _OPEN and now < _CLOSED)) for was, now in lids
        ]
        gaze = [
            error
            for key, errors in self._gaze.items()
            for (was, _), error in zip(_in_shares(self._open[key]), errors, strict=True)
            if was > _OPEN
        ]
        return {
            "error": Figure.of(self._all),
            "variation": Figure.of(
                [stray for rows in self._offsets.values() for stray in strays(rows)],
                reason="no face was swapped in two pictures",
            ),
            "eyes": Figure.of(self._eyes),
            "mouth": Figure.of(self._mouth),
            "error_to_truth": Figure.of(self._true, reason="no truth is known"),
            "gaze": Figure.of(gaze, reason="no open eye was swapped"),
            "blink_agreement": _share(agree, "no face was swapped"),
            "blinks_kept": _share(closed, "the performer does not blink"),
        }


def landmark_error(found: Landmarks, true: Landmarks, scale: float) -> float:
    """Mean distance of (n, ≥2) points, in per cent of ``scale`` pixels."""
    distance = np.hypot(*(found[:, :2].astype(np.float64) - true[:, :2]).T)
    return float(distance.mean() / scale * 100)


def offsets_of(found: Landmarks, true: Landmarks) -> npt.NDArray[np.float32]:
    """(n, 2): how far each landmark is off, along the line through the true eyes' outer corners and across
    it, in per cent of the distance between them."""
    points = true[:, :2].astype(np.float64)
    axis = points[OUTER_EYE_CORNERS[1]] - points[OUTER_EYE_CORNERS[0]]
    turned = np.array([[axis[0], -axis[1]], [axis[1], axis[0]]]) / max(float(axis @ axis), 1e-6)
    return np.asarray((found[:, :2] - points) @ turned * 100, np.float32)


def strays(offsets: Sequence[npt.NDArray[np.float32]]) -> list[float]:
    """For each picture, the mean distance of the landmarks' offsets from their means over all pictures.

    A single picture has none.
    """
    if len(offsets) < _FEWEST:
        return []
    table = np.stack(offsets)
    table -= table.mean(axis=0, dtype=np.float64).astype(np.float32)
    return [float(value) for value in np.hypot(table[..., 0], table[..., 1]).mean(axis=1)]


def openness(landmarks: Landmarks) -> float:
    """How far the lids are apart, in widths of the eye: the eye aspect ratio, mean of both eyes."""
    points = landmarks[:, :2].astype(np.float64)
    ratios = []
    for (outer, inner), pairs in _LIDS:
        height = np.mean([np.hypot(*(points[upper] - points[lower])) for upper, lower in pairs])
        ratios.append(height / max(float(np.hypot(*(points[outer] - points[inner]))), 1e-6))
    return float(np.mean(ratios))


def gaze_of(landmarks: Landmarks) -> npt.NDArray[np.float64]:
    """(2, 2): where each iris is between the corners of its eye, along and across, in widths of the eye."""
    points = landmarks[:, :2].astype(np.float64)
    places = np.empty((2, 2))
    for row, ((outer, inner), iris) in enumerate(_IRISES):
        axis = points[inner] - points[outer]
        width = max(float(np.hypot(*axis)), 1e-6)
        along = axis / width
        offset = points[iris] - (points[outer] + points[inner]) / 2
        places[row] = (offset @ along / width, (along[0] * offset[1] - along[1] * offset[0]) / width)
    return places


def _in_shares(values: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """How open the lids are before and after, each in shares of their own usual opening."""
    table = np.array(values)
    shares = table / np.maximum(np.median(table, axis=0), 1e-6)
    return [(float(was), float(now)) for was, now in shares]


def _share(hits: Sequence[bool], reason: str) -> Figure:
    return Figure.single(float(np.mean(hits)), len(hits)) if hits else Figure.none(reason)
