"""Regions of the texture that are not bare skin, softly bounded."""

from functools import cache

import numpy as np

from livefusion.swap.mesh.canonical import LEFT_EYE, OUTER_LIPS, RIGHT_EYE, Floats
from livefusion.swap.mesh.mask import soft_hull

_RIGHT_SOCKET, _LEFT_SOCKET = (70, 63, 105, 66, 107, 33, 145, 133), (300, 293, 334, 296, 336, 263, 374, 362)
_BROWS = ((70, 63, 105, 66, 107, 55, 65, 52, 53, 46), (300, 293, 334, 296, 336, 285, 295, 282, 283, 276))
_INNER = (107, 336, 66, 296, 33, 263, 57, 287, 17, 152, 149, 378)
_NOSTRILS = (64, 98, 97, 2, 326, 327, 294, 19)


@cache
def not_bare() -> Floats:
    """(1024, 1024) in [0, 1]: 1 on lips, nostrils, eyes and brows, softly 0 round them."""
    parts = [soft_hull(OUTER_LIPS, 25, 6.0), soft_hull(_NOSTRILS, 21, 6.0), sockets()]
    return np.asarray(np.max(parts, axis=0), np.float32)


@cache
def inner_face() -> Floats:
    """(1024, 1024) in [0, 1]: 1 where no hair hangs even beside a fringe: eyes, brows, nose, mouth, chin."""
    parts = [soft_hull(_INNER, 15, 8.0), *(soft_hull(brow, 45, 6.0) for brow in _BROWS)]
    return np.asarray(np.max(parts, axis=0), np.float32)


@cache
def beside_eyes() -> Floats:
    """(1024, 1024) in [0, 1]: 1 on the eyes and well beside them, where lashes and shadow are dark."""
    both = [soft_hull(eye, 101, 8.0) for eye in (RIGHT_EYE, LEFT_EYE)]
    return np.asarray(np.maximum(*both), np.float32)


@cache
def sockets() -> Floats:
    """(1024, 1024) in [0, 1]: 1 on eyes and brows, softly 0 round them."""
    both = [soft_hull(socket, 31, 8.0) for socket in (_RIGHT_SOCKET, _LEFT_SOCKET)]
    return np.asarray(np.maximum(*both), np.float32)
