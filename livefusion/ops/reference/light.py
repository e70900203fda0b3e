"""Finding the light that falls on the frame and not yet on the patch."""

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.colour import CELL, matching

LIGHT_PASSES = 3
"""Box blurs that together stand for a Gaussian."""
RIM_RANGE = (0.5, 0.75)
"""Blurred alpha at which the rim is full, and at which it has ended."""
TOLERANCE = 1.5
"""Code values by which the rim may miss the frame: less than 1 ΔE₀₀ in luma and in chroma.

With 2.5 the border of five pairs of clip and persona is farther off by 0.2 to 0.3 ΔE₀₀. What is corrected
beyond need makes the result more like the performer: with 1.0 by up to 0.01 (SFace), with 1.5 by up to 0.006.
"""
WEIGHT_FLOOR = 1e-2
"""Added to weights that something is divided by."""


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
    """Find how the light of the frame differs from that of the matched patch, at low frequency.

    ``cells`` and ``stats`` are as ``colour_stats`` leaves them. Writes ``light`` (rows, columns, 3) float32:
    what to add to the matched Y, Cb and Cr in the middle of each cell.

    There are two fields, each blurred by three boxes of side 2 · radius + 1 cells and normalised by the alpha
    under them: the wide one of ``radius``, of which ``relight`` is taken, and the narrow one of
    ``rim_radius``, which takes over near the outer edge, so that the patch meets the frame there, but for
    ``TOLERANCE``. ``rim`` in [0, 1] is the share of that. How near the edge is, the alpha tells, blurred like
    the wide field, once its holes are filled (``filled``): round eyes, mouth and what hides a part of the
    face there is no rim.
    """
    shift, gain = matching(stats)
    weight = cells[..., :1].astype(np.float64)
    difference = cells[..., 4:7] - (cells[..., 1:4] * gain + shift * weight)
    full = CELL * CELL / 4
    whole = filled(weight[..., 0])[..., None] / full
    wide = _blurred(np.concatenate([difference, weight, whole], axis=-1), radius)
    narrow = _blurred(np.concatenate([difference, weight], axis=-1), rim_radius)
    low, high = RIM_RANGE
    inside = np.clip((wide[..., 4:] - low) / (high - low), 0, 1)
    share = rim * (1 - inside * inside * (3 - 2 * inside))
    inner = relight * wide[..., :3] / (wide[..., 3:4] + WEIGHT_FLOOR)
    step = narrow[..., :3] / (narrow[..., 3:] + WEIGHT_FLOOR) - inner
    size = np.sqrt((step * step).sum(axis=-1, keepdims=True))
    seen = 1 - TOLERANCE / np.maximum(size, TOLERANCE)
    light[...] = inner + share * seen * step


def filled(weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(rows, columns) weights, each raised to the least that is found on two opposite sides of it.

    So a hole is filled, and so is a bay that a hand reaching in from one side leaves.
    """
    most = np.maximum.accumulate
    down = np.minimum(most(weight, axis=0), most(weight[::-1], axis=0)[::-1])
    across = np.minimum(most(weight, axis=1), most(weight[:, ::-1], axis=1)[:, ::-1])
    higher: npt.NDArray[np.float64] = np.maximum(down, across)
    return higher


def _blurred(values: npt.NDArray[np.float64], radius: int) -> npt.NDArray[np.float64]:
    for _ in range(LIGHT_PASSES):
        values = _box(_box(values, radius, 0), radius, 1)
    scaled: npt.NDArray[np.float64] = values / (2 * radius + 1) ** (2 * LIGHT_PASSES)
    return scaled


def _box(values: npt.NDArray[np.float64], radius: int, axis: int) -> npt.NDArray[np.float64]:
    """Sums over 2 · radius + 1 neighbours along an axis, zero outside."""
    padding = [(0, 0)] * values.ndim
    padding[axis] = (radius, radius)
    padded = np.pad(values, padding)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=axis)
    sums: npt.NDArray[np.float64] = windows.sum(axis=-1)
    return sums
