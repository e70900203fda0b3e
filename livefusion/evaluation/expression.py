"""Is the performer's expression kept: landmarks, gaze and blinks of the result against the performer's."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.view import FaceView
from livefusion.faces.points import LEFT_EYE_CORNERS, LEFT_IRIS, RIGHT_EYE_CORNERS, RIGHT_IRIS
from livefusion.swap.mesh.canonical import INNER_LIPS, LEFT_EYE, OUTER_LIPS, RIGHT_EYE

_EYES, _MOUTH = [*LEFT_EYE, *RIGHT_EYE], [*OUTER_LIPS, *INNER_LIPS]
# Corners, and pairs of points on the upper and lower lid, of the eyes at the left and right of the picture.
_LIDS = (
    (LEFT_EYE_CORNERS, ((160, 144), (159, 145), (158, 153))),
    (RIGHT_EYE_CORNERS, ((387, 373), (386, 374), (385, 380))),
)
_IRISES = ((LEFT_EYE_CORNERS, LEFT_IRIS), (RIGHT_EYE_CORNERS, RIGHT_IRIS))
_CLOSED = 0.6
"""A lid counts as closed below this share of what it is open at, the median over the clip."""


class ExpressionMeasure:
    """Errors in per cent of the distance between the eyes' outer corners; gaze of an eye's width."""

    name = "expression"

    def __init__(self) -> None:
        self._all: list[float] = []
        self._eyes: list[float] = []
        self._mouth: list[float] = []
        self._true: list[float] = []
        self._gaze: dict[int, list[tuple[float, float]]] = {}
        self._open: dict[int, list[tuple[float, float]]] = {}

    def add(self, view: FaceView) -> None:
        """Compare the landmarks."""
        scale = view.eye_distance
        self._all.append(landmark_error(view.now, view.was, scale))
        self._eyes.append(landmark_error(view.now[_EYES], view.was[_EYES], scale))
        self._mouth.append(landmark_error(view.now[_MOUTH], view.was[_MOUTH], scale))
        if view.true is not None:
            self._true.append(landmark_error(view.now, view.true, scale))
        gaze = np.hypot(*(gaze_of(view.now) - gaze_of(view.was)).T).mean() * 100
        was, now = openness(view.was), openness(view.now)
        self._gaze.setdefault(view.key, []).append((was, float(gaze)))
        self._open.setdefault(view.key, []).append((was, now))

    def figures(self) -> Figures:
        """The errors, and how often both lids agree."""
        states = [state for values in self._open.values() for state in _states(values)]
        closed = [now for was, now in states if was]
        gaze = [
            error
            for values in self._gaze.values()
            for (was, _), (_, error) in zip(_states([(one, one) for one, _ in values]), values, strict=True)
            if not was
        ]
        return {
            "error": Figure.of(self._all),
            "eyes": Figure.of(self._eyes),
            "mouth": Figure.of(self._mouth),
            "error_to_truth": Figure.of(self._true, reason="no truth is known"),
            "gaze": Figure.of(gaze, reason="no open eye was swapped"),
            "blink_agreement": _share([was == now for was, now in states], "no face was swapped"),
            "blinks_kept": _share(closed, "the performer does not blink"),
        }


def landmark_error(found: Landmarks, true: Landmarks, scale: float) -> float:
    """Mean distance of (n, ≥2) points, in per cent of ``scale`` pixels."""
    distance = np.hypot(*(found[:, :2].astype(np.float64) - true[:, :2]).T)
    return float(distance.mean() / scale * 100)


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


def _states(values: Sequence[tuple[float, float]]) -> list[tuple[bool, bool]]:
    """Whether the lids are closed, before and after; each is held against its own usual opening."""
    usual_was, usual_now = np.median(np.array(values), axis=0)
    return [(was < _CLOSED * usual_was, now < _CLOSED * usual_now) for was, now in values]


def _share(hits: Sequence[bool], reason: str) -> Figure:
    return Figure.single(float(np.mean(hits)), len(hits)) if hits else Figure.none(reason)
