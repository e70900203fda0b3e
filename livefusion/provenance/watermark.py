"""The watermark: what a run says in it, and the plane that is added to the luma of every picture.

Spread spectrum: each cell (``chips``) is made a little lighter or darker, by two levels of 255 at most. No
single pixel shows it; over the thousands of cells of some pictures the sum stands out. Ramps between the
cells leave no edges; calm and dark places, where the eye sees most, get less of it (``mark_gains``).
"""

import secrets
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.geometry import Size
from livefusion.provenance.chips import BITS, Grid, payload_carriers, presence_signs

AMPLITUDE = 2.0
"""Levels of luma by which a cell's middle is shifted where the gain is 1."""
UNIT = 16
"""Steps of a level in the plane and in the gains (``add_plane``)."""
SESSIONS, KEYS = 1 << 16, 1 << 8
_CRC_POLYNOMIAL = 0x07


@dataclass(frozen=True, slots=True)
class WatermarkKey:
    """The operator's secret, at least 16 bytes, and the number in [0, 255] by which it is known."""

    secret: bytes
    key_id: int

    def __repr__(self) -> str:
        return f"WatermarkKey(key_id={self.key_id})"


@dataclass(frozen=True, slots=True)
class Payload:
    """What the mark says: the run, in [0, 65535], and the operator's key, in [0, 255]."""

    session: int
    key_id: int

    @staticmethod
    def of_new_session(key: WatermarkKey) -> "Payload":
        """The payload of a run that begins now, under a number drawn at random."""
        return Payload(secrets.randbelow(SESSIONS), key.key_id)

    def as_report(self) -> dict[str, str]:
        """The payload as reports and logs write it: hexadecimal."""
        return {"session": f"{self.session:04x}", "key_id": f"{self.key_id:02x}"}

    @property
    def bits(self) -> npt.NDArray[np.bool_]:
        """(32,) bits: 16 of the session, 8 of the key, 8 to check them by, the highest first."""
        word = self.session << 8 | self.key_id
        word = word << 8 | crc8(word.to_bytes(3, "big"))
        return np.array([word >> shift & 1 for shift in reversed(range(BITS))], np.bool_)


@dataclass(frozen=True, slots=True)
class Watermark:
    """What marks the pictures of one run."""

    key: WatermarkKey
    payload: Payload


def crc8(data: bytes) -> int:
    """The CRC-8 of ITU-T I.432.1, without its final XOR, of some bytes."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value << 1 ^ _CRC_POLYNOMIAL if value & 0x80 else value << 1) & 0xFF
    return value


def mark_signs(mark: Watermark, grid: Grid, epoch: int) -> npt.NDArray[np.int8]:
    """(rows, columns): −1 or 1 in every cell."""
    signs = presence_signs(grid, epoch).copy()
    carriers = payload_carriers(grid, epoch, mark.key.secret)
    values = np.where(mark.payload.bits, 1, -1).astype(np.int8)
    signs.reshape(-1)[carriers.cells] = carriers.signs * values[carriers.bits]
    return signs


def mark_plane(mark: Watermark, size: Size, epoch: int) -> npt.NDArray[np.int8]:
    """The plane for ``add_plane``: (height, width) int8 in 1/16 of a level, within ±32."""
    signs = mark_signs(mark, Grid.of(size), epoch).astype(np.float32) * (AMPLITUDE * UNIT)
    ramps = cv2.resize(signs, (size.width, size.height), interpolation=cv2.INTER_LINEAR)
    return np.rint(ramps).astype(np.int8)


def mark_gains() -> npt.NDArray[np.uint8]:
    """(16, 16) uint8 in 1/16: what a block gets by its contrast (rows, 4 levels each) and light (columns, 16
    levels each); see ``add_plane``."""
    contrast, light = np.mgrid[0:16, 0:16]
    gains = np.where(contrast >= _BUSY, _STRONG, np.where(contrast >= _CALM, _USUAL, _WEAK))
    dark = (light < _DARK) & (contrast < _BUSY)
    return np.where(dark, np.minimum(gains, _WEAK), gains).astype(np.uint8)


# Contrast in fours of levels: grain of a camera spans 4 to 8 levels in a block, texture more than 24.
_CALM, _BUSY = 2, 6
_DARK = 3  # sixteens of levels: below 48
# More than 1 everywhere would be less than the 45 dB that are promised.
_WEAK, _USUAL, _STRONG = 12, 16, 16
