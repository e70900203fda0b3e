"""Finding the light that falls on the frame and not yet on the patch, on its grid of cells."""

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.colour import matching
from livefusion.ops.reference.colour import CELL
from livefusion.ops.reference.light import LIGHT_PASSES, RIM_RANGE, TOLERANCE, WEIGHT_FLOOR

_FULL = CELL * CELL / 4
_RIM_START, _RIM_END = RIM_RANGE


def light_field(
    *,
    cells: npt.NDArray[np.float32],
    stats: npt.NDArray[np.float32],
    radius: int,
    rim_radius: int,
    relight: float,
    rim: float,
    light: npt.NDArray[np.float32],
) -> None:
    """Find how the light of the frame differs from that of the patch; contract in ``reference.light``."""
    _find_light(cells, stats, radius, rim_radius, relight, rim, light)


@njit(cache=True, nogil=True)
def _find_light(  # noqa: PLR0917 numba takes no keyword-only arguments
    cells: npt.NDArray[np.float32],
    stats: npt.NDArray[np.float32],
    radius: int,
    rim_radius: int,
    relight: float,
    rim: float,
    light: npt.NDArray[np.float32],
) -> None:
    """``light_field`` without keywords."""
    rows, columns = cells.shape[:2]
    narrow, wide = np.empty((4, rows, columns), np.float64), np.empty((5, rows, columns), np.float64)
    narrow[3] = cells[:, :, 0]
    for channel in range(3):
        shift, gain = matching(stats, channel)
        narrow[channel] = cells[:, :, channel + 4] - cells[:, :, channel + 1] * gain - shift * cells[:, :, 0]
    wide[:4] = narrow
    _fill(narrow[3], wide[4])
    _blur(narrow, rim_radius)
    _blur(wide, radius)
    added, step = np.empty(3, np.float64), np.empty(3, np.float64)
    for row in range(rows):
        for column in range(columns):
            inside = (wide[4, row, column] / _FULL - _RIM_START) / (_RIM_END - _RIM_START)
            inside = min(max(inside, 0.0), 1.0)
            edge = rim * (1.0 - inside * inside * (3.0 - 2.0 * inside))
            inner = relight / (wide[3, row, column] + WEIGHT_FLOOR)
            outer = 1.0 / (narrow[3, row, column] + WEIGHT_FLOOR)
            for channel in range(3):
                added[channel] = wide[channel, row, column] * inner
                step[channel] = narrow[channel, row, column] * outer - added[channel]
            size = math.sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2])
            share = edge * (1.0 - TOLERANCE / max(size, TOLERANCE))
            for channel in range(3):
                light[row, column, channel] = added[channel] + share * step[channel]


@njit(cache=True, nogil=True)
def _fill(weight: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None:
    """``reference.light.filled``."""
    rows, columns = weight.shape
    down = np.empty((rows, columns), np.float64)
    most = np.zeros(columns, np.float64)
    for row in range(rows):
        most = np.maximum(most, weight[row])
        down[row] = most
    most[:] = 0.0
    for row in range(rows - 1, -1, -1):
        most = np.maximum(most, weight[row])
        down[row] = np.minimum(down[row], most)
    for row in range(rows):
        highest = 0.0
        for column in range(columns):
            highest = max(highest, weight[row, column])
            out[row, column] = highest
        highest = 0.0
        for column in range(columns - 1, -1, -1):
            highest = max(highest, weight[row, column])
            out[row, column] = max(down[row, column], min(out[row, column], highest))


@njit(cache=True, nogil=True)
def _blur(planes: npt.NDArray[np.float64], radius: int) -> None:
    """Blur planes in place by boxes of 2 · radius + 1 cells, zero outside.

    Boxes along rows and along columns may be taken in any order: those along rows are taken last, on the
    turned plane, so that either way sums run side by side. A plane at a time stays in the first cache.
    """
    if radius == 0:
        return
    count, rows, columns = planes.shape
    upright, spare = np.empty((rows, columns), np.float64), np.empty((columns, rows), np.float64)
    turned, total = np.empty((columns, rows), np.float64), np.empty(max(rows, columns), np.float64)
    for index in range(count):
        _boxes(planes[index], radius, upright, total[:columns])
        _turn(upright, turned)
        _boxes(turned, radius, spare, total[:rows])
        _turn(spare, planes[index])


@njit(cache=True, nogil=True)
def _turn(plane: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None:
    for column in range(out.shape[0]):
        line = out[column]
        for row in range(line.shape[0]):
            line[row] = plane[row, column]


@njit(cache=True, nogil=True)
def _boxes(
    plane: npt.NDArray[np.float64],
    radius: int,
    out: npt.NDArray[np.float64],
    total: npt.NDArray[np.float64],
) -> None:
    """``LIGHT_PASSES``, an odd number, means over 2 · radius + 1 rows, zero outside; ``plane`` is lost."""
    for _ in range(LIGHT_PASSES // 2):
        _box(plane, radius, out, total)
        _box(out, radius, plane, total)
    _box(plane, radius, out, total)


@njit(cache=True, nogil=True)
def _box(
    plane: npt.NDArray[np.float64],
    radius: int,
    out: npt.NDArray[np.float64],
    total: npt.NDArray[np.float64],
) -> None:
    rows, scale = plane.shape[0], 1.0 / (2 * radius + 1)
    total[:] = 0.0
    for row in range(min(radius, rows)):
        _add(plane[row], total)
    for row in range(rows):
        if row + radius < rows:
            _add(plane[row + radius], total)
        if row - radius - 1 >= 0:
            _take(plane[row - radius - 1], total)
        line = out[row]
        for i in range(line.shape[0]):
            line[i] = total[i] * scale


@njit(cache=True, nogil=True)
def _add(line: npt.NDArray[np.float64], total: npt.NDArray[np.float64]) -> None:
    for i in range(line.shape[0]):
        total[i] += line[i]


@njit(cache=True, nogil=True)
def _take(line: npt.NDArray[np.float64], total: npt.NDArray[np.float64]) -> None:
    for i in range(line.shape[0]):
        total[i] -= line[i]
