"""Mixing textures: how a face's skin changes with its expression."""

import numpy as np
import numpy.typing as npt

MOST_DELTAS = 4
"""So many differences are mixed at once at most."""
FULL = 256
"""Steps of a weight from 0 to 1."""


def mix_texels(
    *,
    base: npt.NDArray[np.uint8],
    deltas: npt.NDArray[np.int8],
    weights: tuple[float, ...],
    out: npt.NDArray[np.uint8],
    x: int,
    y: int,
) -> None:
    """Add weighted differences to a box of a texture.

    ``base`` and ``out`` are (h, w, 4) uint8; ``deltas`` (n · bh, bw, 4) int8 holds n boxes below each other,
    one for each of the ``weights``, which are cut to [0, 1] and rounded to 1/256. The box whose first texel
    is (``x``, ``y``) must lie within the texture. Writes that box of ``out``: the sum, rounded half up, cut
    to [0, 255]. ``ValueError`` for no or more than ``MOST_DELTAS`` weights, and for a box that does not fit.
    """
    height = check_boxes(base.shape, deltas.shape, weights, x, y)
    steps = to_steps(weights)
    boxes = deltas.reshape(len(steps), height, *deltas.shape[1:]).astype(np.int32)
    added = np.tensordot(np.array(steps, np.int32), boxes, 1)
    window = np.s_[y : y + height, x : x + deltas.shape[1]]
    out[window] = np.clip(base[window] + ((added + FULL // 2) >> 8), 0, 255)


def to_steps(weights: tuple[float, ...]) -> list[int]:
    """The weights in steps of 1/256, rounded to nearest."""
    return [int(min(max(weight, 0.0), 1.0) * FULL + 0.5) for weight in weights]


def check_boxes(
    texture: tuple[int, ...], deltas: tuple[int, ...], weights: tuple[float, ...], x: int, y: int
) -> int:
    """Rows of a box; ``ValueError`` as ``mix_texels`` says."""
    count = len(weights)
    if not 0 < count <= MOST_DELTAS or deltas[0] % count:
        raise ValueError(f"{count} weights do not go with differences of {deltas}")
    height = deltas[0] // count
    if x < 0 or y < 0 or y + height > texture[0] or x + deltas[1] > texture[1]:
        raise ValueError(f"a box of {height} x {deltas[1]} at {x}, {y} is not within {texture[:2]}")
    return height
