"""Mixing textures on the CPU: whole rows of bytes, so that the compiler can take many at once."""

import numpy as np
import numpy.typing as npt
from numba import njit

from livefusion.ops.reference.texels import MOST_DELTAS, check_boxes, to_steps

Bytes = npt.NDArray[np.uint8]
_SIGNATURE = (
    "void(Array(uint8, 2, 'C', readonly=True), Array(int8, 2, 'C', readonly=True), uint8[:, ::1], "
    "UniTuple(int32, 4), int64, int64, int64, int64)"
)


def mix_texels(
    *,
    base: Bytes,
    deltas: npt.NDArray[np.int8],
    weights: tuple[float, ...],
    out: Bytes,
    x: int,
    y: int,
) -> None:
    """Add weighted differences to a box of a texture; see ``livefusion.ops.reference.texels``."""
    height = check_boxes(base.shape, deltas.shape, weights, x, y)
    steps = to_steps(weights)
    one, two, three, four = (*steps, *([0] * (MOST_DELTAS - len(steps))))
    dense = out if out.flags.c_contiguous else out.copy()
    rows = (_rows(base), np.ascontiguousarray(deltas).reshape(deltas.shape[0], -1), _rows(dense))
    _mix(*rows, (one, two, three, four), len(steps), height, 4 * x, y)
    if dense is not out:
        out[:] = dense


def _rows(texels: Bytes) -> Bytes:
    """(h, w · 4) of (h, w, 4); without a copy where rows lie close."""
    return np.ascontiguousarray(texels).reshape(texels.shape[0], -1)


@njit(_SIGNATURE, cache=True, nogil=True)
def _mix(  # noqa: PLR0917 numba takes no keyword-only arguments
    base: Bytes,
    deltas: npt.NDArray[np.int8],
    out: Bytes,
    steps: tuple[int, int, int, int],
    count: int,
    height: int,
    left: int,
    top: int,
) -> None:
    width = deltas.shape[1]
    one, two, three, four = steps
    # Rows are cut out and all numbers have 32 bits: else the loops would not become vector code, which is
    # five times as fast.
    half, low, high, shift = np.int32(128), np.int32(0), np.int32(255), np.int32(8)
    for row in range(height):
        before, after = base[top + row, left : left + width], out[top + row, left : left + width]
        if count == 1:
            first = deltas[row]
            for i in range(width):
                value = (one * np.int32(first[i]) + half) >> shift
                after[i] = min(max(np.int32(before[i]) + value, low), high)
        elif count == 2:
            first, second = deltas[row], deltas[height + row]
            for i in range(width):
                value = (one * np.int32(first[i]) + two * np.int32(second[i]) + half) >> shift
                after[i] = min(max(np.int32(before[i]) + value, low), high)
        else:
            first, second, third = deltas[row], deltas[height + row], deltas[2 * height + row]
            fourth = deltas[(count - 1) * height + row]  # of three the last again, with a weight of 0
            for i in range(width):
                value = one * np.int32(first[i]) + two * np.int32(second[i])
                value = (value + three * np.int32(third[i]) + four * np.int32(fourth[i]) + half) >> shift
                after[i] = min(max(np.int32(before[i]) + value, low), high)
