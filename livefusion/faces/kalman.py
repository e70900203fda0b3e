"""The motion model of SORT: one constant-velocity Kalman filter a box (Bewley et al., "SORT", ICIP 2016)."""

from typing import Any

import numpy as np
import numpy.typing as npt

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


class BoxFilter:
    """Where a box is and how it moves: ``filterpy.kalman.KalmanFilter`` with SORT's seven-part state."""

    __slots__ = ("_filter",)

    def __init__(self, corners: Corners) -> None:
        # filterpy and its scipy take 1.3 s to import: only when the first face is there, or warmed before.
        from filterpy.kalman import KalmanFilter

        kalman: Any = KalmanFilter(dim_x=7, dim_z=4)
        kalman.F, kalman.H = _MOTION, _SEEN
        kalman.R, kalman.P, kalman.Q = _MEASUREMENT_NOISE, _START_COVARIANCE.copy(), _PROCESS_NOISE
        kalman.x[:4] = _to_state(corners)
        self._filter = kalman

    def predict(self) -> None:
        """Move the box one frame on. An area that would become negative stops shrinking."""
        state = self._filter.x
        if state[2, 0] + state[6, 0] <= 0:
            state[6, 0] = 0.0
        self._filter.predict()

    def update(self, corners: Corners) -> None:
        """Correct the state by a box that was seen."""
        self._filter.update(_to_state(corners))

    @property
    def corners(self) -> Corners:
        """The box as it is now believed to be; NaN if the filter has diverged."""
        x, y, area, aspect = self._filter.x[:4, 0]
        width = np.sqrt(area * aspect) if area * aspect >= 0 else np.nan
        height = area / width if width else np.nan
        return np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])

    @property
    def velocity(self) -> tuple[float, float]:
        """Motion of the centre in pixels a frame."""
        return float(self._filter.x[4, 0]), float(self._filter.x[5, 0])


def _to_state(corners: Corners) -> npt.NDArray[np.float64]:
    left, top, right, bottom = (float(value) for value in corners)
    width, height = right - left, bottom - top
    return np.array([[left + width / 2], [top + height / 2], [width * height], [width / height]])
