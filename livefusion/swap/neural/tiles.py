"""A picture that is written and read in strided tiles: each has every n-th pixel of every n-th row."""

import numpy as np

from livefusion.devices.device import Array, Device

CHANNELS = 4


class TiledPicture:
    """(step · size, step · size, 4) uint8 on a device, of step² tiles with ``size`` pixels a side."""

    def __init__(self, device: Device, size: int, step: int = 1) -> None:
        self._size = size
        self._step = step
        side = size * step
        # The tiles' views reach beyond the picture, by less than the rows that are kept here.
        self._memory: Array = device.empty(((side + step) * side * CHANNELS,), np.uint8)
        self.whole: Array = self._memory[: side * side * CHANNELS].reshape(side, side, CHANNELS)
        """All of it."""

    @property
    def side(self) -> int:
        """Its pixels a side."""
        return self._size * self._step

    def tile(self, number: int) -> Array:
        """(size, size, 4 · step): the pixels of a tile, row by row of tiles, and what follows each."""
        row = self.side * CHANNELS
        start = number // self._step * row + number % self._step * CHANNELS
        rows = self._memory[start : start + self.side * row].reshape(self._size, self._step * row)
        return rows[:, :row].reshape(self._size, self._size, self._step * CHANNELS)
