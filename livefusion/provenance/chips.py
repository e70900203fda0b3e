"""Where in a picture the watermark carries what: cells, and the keyed signs in them.

A picture is divided into square cells, 8×8 pixels at 720p, and as many for a larger picture: what a viewer
sees under the same angle, and what a change of size keeps. Half of the cells, chosen at random, say that the
mark is there; their signs come from a key that everybody knows, so that everybody can find the mark. The
others carry the payload; their signs come from the operator's key, so that only who has it can read, or
forge, whose picture it is. Every ten seconds all of it is drawn anew.
"""

import hashlib
import hmac
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Size

Signs = npt.NDArray[np.int8]

PUBLIC_KEY = b"LiveFusion: this picture was altered"
"""The key of the cells that anybody may find."""
EPOCH_SECONDS = 10
"""For so long, in media time, the signs stay the same."""
EPOCHS = 16
"""After so many epochs the signs begin again: whoever looks for them tries them all."""
BITS = 32
"""Bits of the payload, on as many cells each."""
# Cells along the short side, and the shortest side in pixels that has so many.
_LADDER = ((90, 640), (60, 440), (45, 300))
CELL = 8
"""Side of a cell in pixels, in pictures too small for the ladder."""
FEWEST = 4
"""Cells along the short side of the smallest picture."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of a picture: so many below each other, so many side by side."""

    rows: int
    columns: int

    @staticmethod
    def of(size: Size) -> "Grid":
        """The cells of a picture when it is marked."""
        short = min(size.width, size.height)
        cells = next((cells for cells, least in _LADDER if short >= least), max(FEWEST, short // CELL))
        return Grid.with_short_side(cells, size)

    @staticmethod
    def with_short_side(cells: int, size: Size) -> "Grid":
        """So many cells along the shorter side of a picture of that shape."""
        along = max(1, round(cells * max(size.width, size.height) / max(1, min(size.width, size.height))))
        return Grid(cells, along) if size.width >= size.height else Grid(along, cells)


def grids_of(size: Size) -> tuple[Grid, ...]:
    """The grids that a picture of this size, as it was received, may have been marked with."""
    likely = Grid.of(size)
    others = (Grid.with_short_side(cells, size) for cells, _ in _LADDER)
    return tuple(dict.fromkeys((likely, *others)))


def epoch_at(seconds: float) -> int:
    """The epoch of a media time, in [0, EPOCHS)."""
    return int(seconds // EPOCH_SECONDS) % EPOCHS


@lru_cache(maxsize=4 * EPOCHS)
def presence_signs(grid: Grid, epoch: int) -> Signs:
    """(rows, columns): −1 or 1 in the cells that say that the mark is there, 0 in the others."""
    signs = np.zeros(grid.rows * grid.columns, np.int8)
    cells = _split(grid, epoch)[0]
    signs[cells] = _signs(PUBLIC_KEY, grid, epoch, len(cells))
    laid: Signs = signs.reshape(grid.rows, grid.columns)
    laid.flags.writeable = False
    return laid


@dataclass(frozen=True, slots=True, eq=False)
class Carriers:
    """The cells of the payload: flat index, sign and bit of each; all (n,), read-only."""

    cells: npt.NDArray[np.intp]
    signs: Signs
    bits: npt.NDArray[np.intp]


@lru_cache(maxsize=2 * EPOCHS)
def payload_carriers(grid: Grid, epoch: int, secret: bytes) -> Carriers:
    """The cells of the payload for the holder of ``secret``, as many for each bit as the grid allows."""
    cells = _split(grid, epoch)[1]
    order = np.argsort(_numbers(b"bits" + secret, grid, epoch, len(cells)), kind="stable")
    bits = np.empty(len(cells), np.intp)
    bits[order] = np.arange(len(cells)) % BITS
    carriers = Carriers(cells, _signs(secret, grid, epoch, len(cells)), bits)
    for array in (carriers.cells, carriers.signs, carriers.bits):
        array.flags.writeable = False
    return carriers


@lru_cache(maxsize=4 * EPOCHS)
def _split(grid: Grid, epoch: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The cells of the presence and those of the payload, each in rising order."""
    count = grid.rows * grid.columns
    order = np.argsort(_numbers(b"split" + PUBLIC_KEY, grid, epoch, count), kind="stable")
    return np.sort(order[: count // 2]), np.sort(order[count // 2 :])


def _signs(key: bytes, grid: Grid, epoch: int, count: int) -> Signs:
    bits = np.unpackbits(np.frombuffer(_stream(b"signs" + key, grid, epoch, -(-count // 8)), np.uint8))
    return (bits[:count].astype(np.int8) * 2 - 1).astype(np.int8)


def _numbers(key: bytes, grid: Grid, epoch: int, count: int) -> npt.NDArray[np.uint32]:
    return np.frombuffer(_stream(key, grid, epoch, 4 * count), "<u4")


def _stream(key: bytes, grid: Grid, epoch: int, length: int) -> bytes:
    """So many bytes that nobody can tell from random ones without the key; the same on every machine."""
    seed = hmac.digest(key, f"{grid.rows}x{grid.columns}/{epoch}".encode(), "sha256")
    return hashlib.shake_256(seed).digest(length)
