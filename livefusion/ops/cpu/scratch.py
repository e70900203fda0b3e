"""Memory that the CPU bodies use again and again, so that a warm graph allocates nothing."""

import math
import threading

import numpy as np
import numpy.typing as npt

Plane = npt.NDArray[np.uint8]

_STEP = 1 << 20
"""Bytes by which memory grows: a face that comes nearer would else make it grow every frame."""


class _Memory(threading.local):
    def __init__(self) -> None:
        self.blocks: dict[str, Plane] = {}


_memory = _Memory()


def scratch(use: str, *shape: int) -> Plane:
    """Uninitialised bytes of this thread for one use, valid until the thread asks for the same use again."""
    size = math.prod(shape)
    block = _memory.blocks.get(use)
    if block is None or block.size < size:
        block = _memory.blocks[use] = np.empty(-(-size // _STEP) * _STEP, np.uint8)
    return block[:size].reshape(shape)
