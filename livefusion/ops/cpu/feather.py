"""Soften the edge of a patch: running sums along rows, then along columns."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.cpu.scratch import Plane, scratch
from livefusion.ops.cpu.signature import WRITE_3D
from livefusion.ops.reference.feather import check_radius

Sums = npt.NDArray[np.uint32]


@njit(f"void({WRITE_3D}, uint32[:, ::1], int64)", cache=True, nogil=True)
def _sum_rows(patch: Plane, sums: Sums, radius: int) -> None:
    height, width = patch.shape[:2]
    for row in range(height):
        total = np.uint32(0)
        for column in range(min(radius, width)):
            total += np.uint32(patch[row, column, 3])
        for column in range(width):
            if column + radius < width:
                total += np.uint32(patch[row, column + radius, 3])
            if column > radius:
                total -= np.uint32(patch[row, column - radius - 1, 3])
            sums[row, column] = total


@njit(f"void({WRITE_3D}, uint32[:, ::1], uint32[::1], int64)", cache=True, nogil=True)
def _soften(patch: Plane, sums: Sums, total: Sums, radius: int) -> None:
    height, width = patch.shape[:2]
    area = np.uint32((2 * radius + 1) ** 2)
    total[:] = 0
    for row in range(min(radius, height)):
        total += sums[row]
    for row in range(height):
        if row + radius < height:
            total += sums[row + radius]
        if row > radius:
            total -= sums[row - radius - 1]
        for column in range(width):
            if patch[row, column, 3]:
                mean = (np.uint32(2) * total[column] + area) // (np.uint32(2) * area)
                patch[row, column, 3] = min(patch[row, column, 3], np.uint8(mean))


def mask_feather(*, patch: Plane, radius: int) -> None:
    """Soften the alpha of a patch inward, in place; see ``livefusion.ops.reference.feather``."""
    check_radius(radius)
    if radius == 0:
        return
    height, width = patch.shape[:2]
    sums = scratch("feather", height + 1, width * 4).view(np.uint32)
    _sum_rows(patch, sums[:height], radius)
    _soften(patch, sums[:height], sums[height], radius)
