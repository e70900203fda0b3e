"""Grain: noise from a hash of place and time, the same on every device and in every replay."""

import numpy as np
import numpy.typing as npt

from livefusion.ops.reference.detail import COARSE, WHITE

DEVIATION = 147.8017
"""Of a white value, the sum of four random bytes about its mean."""
SPREAD = 6.0
"""By which the deviation grows when a value is added up with its neighbours, 1 2 1 across and down."""
CHROMA_DEVIATION = 104.5108
"""Of a chroma value, the sum of two random bytes about its mean."""
CHROMA_SHARE = 0.25
"""Chroma grain of a chroma sample, of the luma's grain: cameras and encoders smooth colour more."""

ACROSS, DOWN, SALT = 0x9E3779B1, 0x85EBCA77, 0x5BD1E995
Words = npt.NDArray[np.uint32]


def grain_gains(detail: npt.NDArray[np.float32], grain: float) -> tuple[float, float, float]:
    """What white values, their sums over neighbours, and chroma values are multiplied by."""
    white, coarse = float(detail[2, WHITE]), float(detail[2, COARSE])
    colour = CHROMA_SHARE * float(np.hypot(white, coarse))
    return (
        grain * white / DEVIATION,
        grain * coarse / (SPREAD * DEVIATION),
        grain * colour / CHROMA_DEVIATION,
    )


def luma_grain(  # noqa: PLR0917
    x: int, y: int, width: int, height: int, seed: int, white: float, coarse: float
) -> npt.NDArray[np.float64]:
    """(h, w) grain in code values of the pixels from (x, y) on; gains are those of ``grain_gains``."""
    words = hashed(np.arange(x - 1, x + width + 1), np.arange(y - 1, y + height + 1), seed)
    parts = np.stack([words >> np.uint32(8 * byte) & np.uint32(255) for byte in range(4)])
    values = parts.sum(axis=0, dtype=np.int64) - 510
    across = values[:, :-2] + 2 * values[:, 1:-1] + values[:, 2:]
    summed = across[:-2] + 2 * across[1:-1] + across[2:]
    found: npt.NDArray[np.float64] = white * values[1:-1, 1:-1] + coarse * summed
    return found


def chroma_grain(  # noqa: PLR0917
    x: int, y: int, width: int, height: int, seed: int, colour: float
) -> npt.NDArray[np.float64]:
    """(h, w, 2) grain of the chroma samples from (x, y) on, counted in samples."""
    words = hashed(np.arange(x, x + width), np.arange(y, y + height), seed ^ SALT)
    parts = [(words >> np.uint32(8 * byte) & np.uint32(255)).astype(np.int64) for byte in range(4)]
    found: npt.NDArray[np.float64] = colour * np.stack([parts[0] + parts[1], parts[2] + parts[3]], axis=-1)
    return found - colour * 255


def hashed(columns: npt.NDArray[np.integer], rows: npt.NDArray[np.integer], seed: int) -> Words:
    """(rows, columns) random words of 32 bits for places and a seed.

    The mixing at the end is the finaliser of MurmurHash3 (Austin Appleby, public domain).
    """
    across = (columns.astype(np.int64) * ACROSS & 0xFFFFFFFF).astype(np.uint32)
    down = (rows.astype(np.int64) * DOWN + seed & 0xFFFFFFFF).astype(np.uint32)
    words = across[None, :] ^ down[:, None]
    words ^= words >> np.uint32(16)
    words = words * np.uint32(0x85EBCA6B)
    words ^= words >> np.uint32(13)
    words = words * np.uint32(0xC2B2AE35)
    return np.asarray(words ^ words >> np.uint32(16), np.uint32)


def frame_seed(number: int) -> int:
    """A word of 32 bits for the number of a frame."""
    return (number + 1) * 0xC2B2AE3D & 0xFFFFFFFF
