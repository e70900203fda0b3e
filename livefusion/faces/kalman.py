"""The motion model of SORT: one constant-velocity Kalman filter a box (Bewley et al., "SORT", ICIP 2016)."""

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from livefusion.core.gentle_import import gentle_imports

Corners = npt.NDArray[np.float64]
"""(4,) or (n, 4): left, top, right, bottom in pixels."""

# State: centre x, centre y, area, aspect ratio, then the velocities of the first three; seen: the first four.
_MOTION = np.eye(7) + np.eye(7, k=4)
_SEEN = np.eye(4, 7)
# The settings of the paper's implementation: area and aspect are measured ten times worse than the centre,
# velocities start unknown, and the change of area changes slowest.
_MEASUREMENT_NOISE = np.diag([1.0, 1.0, 10.0, 10.0])
_START_COVARIANCE = np.diag([10.0] * 4 + [1e4] * 3)
_PROCESS_NOISE = np.diag([1.0] * 4 + [1e-2, 1e-2, 1e-4])


class FilterLibrary:
    """filterpy, which with its scipy takes a second to import: nobody waits while it is loaded beside."""

    def __init__(self) -> None:
        self._filter_type: Any = None
        self._loading = False

    def load_beside(self, wait_for_turn: Callable[[], object]) -> None:
        """Import it on a thread of its own, which calls ``wait_for_turn`` again and again.

        Until that is done ``filter_type`` gives None.
        """
        if self._filter_type is None and not self._loading:
            self._loading = True
            work = partial(self._load_gently, wait_for_turn)
            threading.Thread(target=work, name="filterpy", daemon=True).start()

    def filter_type(self) -> Any | None:
        """``filterpy.kalman.KalmanFilter``; None while it is loaded beside."""
        if self._filter_type is None and not self._loading:
            self._load()
        return self._filter_type

    def _load_gently(self, wait_for_turn: Callable[[], object]) -> None:
        with gentle_imports(wait_for_turn):
            self._load()

    def _load(self) -> None:
        try:
            from filterpy.kalman import KalmanFilter

            self._filter_type = KalmanFilter
        finally:
            self._loading = False


LIBRARY = FilterLibrary()


class BoxFilter:
    """Where a box is and how it moves: ``filterpy.kalman.KalmanFilter`` with SORT's seven-part state.

    While ``library`` is still being imported the box rests where it was seen last. What happens meanwhile is
    kept and done over afterwards, so the filter then is as if it had been there from the start.
    """

    __slots__ = ("_born_at", "_corners", "_filter", "_library", "_past")

    def __init__(self, corners: Corners, library: FilterLibrary = LIBRARY) -> None:
        self._library = library
        self._born_at = corners
        self._past: list[Corners | None] = []
        self._filter: Any = None
        self._corners: Corners | None = None
        self._catch_up()

    def predict(self) -> None:
        """Move the box one frame on. An area that would become negative stops shrinking."""
        self._do(None)

    def update(self, corners: Corners) -> None:
        """Correct the state by a box that was seen."""
        self._do(corners)

    @property
    def corners(self) -> Corners:
        """The box as it is now believed to be; NaN if the filter has diverged."""
        if self._filter is None:
            return next((seen for seen in reversed(self._past) if seen is not None), self._born_at)
        if self._corners is None:
            x, y, area, aspect = self._filter.x[:4, 0].tolist()
            width = math.sqrt(area * aspect) if area * aspect >= 0 else math.nan
            height = area / width if width else math.nan
            self._corners = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])
        return self._corners

    @property
    def velocity(self) -> tuple[float, float]:
        """Motion of the centre in pixels a frame."""
        if self._filter is None:
            return 0.0, 0.0
        return float(self._filter.x[4, 0]), float(self._filter.x[5, 0])

    def _do(self, step: Corners | None) -> None:
        """One step: a prediction, or the box that was seen."""
        self._past.append(step)
        self._corners = None
        self._catch_up()

    def _catch_up(self) -> None:
        """Do what has not been done yet, if the library is there."""
        if self._filter is None:
            filter_type = self._library.filter_type()
            if filter_type is None:
                return
            self._filter = _new_filter(filter_type, self._born_at)
        for step in self._past:
            if step is None:
                _predict(self._filter)
            else:
                self._filter.update(_to_state(step))
        self._past.clear()


def _new_filter(filter_type: Any, corners: Corners) -> Any:
    kalman = filter_type(dim_x=7, dim_z=4)
    kalman.F, kalman.H = _MOTION, _SEEN
    kalman.R, kalman.P, kalman.Q = _MEASUREMENT_NOISE, _START_COVARIANCE.copy(), _PROCESS_NOISE
    kalman.x[:4] = _to_state(corners)
    return kalman


def _predict(kalman: Any) -> None:
    if kalman.x[2, 0] + kalman.x[6, 0] <= 0:
        kalman.x[6, 0] = 0.0
    kalman.predict()


def _to_state(corners: Corners) -> npt.NDArray[np.float64]:
    left, top, right, bottom = (float(value) for value in corners)
    width, height = right - left, bottom - top
    return np.array([[left + width / 2], [top + height / 2], [width * height], [width / height]])
