"""The room behind the performer, out of focus, and the grain of the sensor that looks at it."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.media.sources.performer_layer import to_yuv

Plane = npt.NDArray[np.uint8]

# The room is painted this many pixels high: focus is far in front of it, so more would be blurred away.
_PAINTED_HEIGHT = 180
# Wall, and things before it: RGB of a studio's mottled paper, and of books, pictures and cloth.
_WALLS = ((172, 160, 148), (150, 158, 160), (166, 150, 136))
_THINGS = ((94, 74, 60), (70, 84, 100), (196, 188, 174), (120, 60, 50), (60, 72, 60), (210, 200, 180))
_GRAIN_MARGIN = 64


def paint_backdrop(size: Size, color: ColorInfo, seed: int) -> tuple[Plane, Plane]:
    """Luma (h, w) and chroma (h/2, w/2, 2) of a room; another one for each seed."""
    random = np.random.default_rng([seed, 0x6264])
    height, width = _PAINTED_HEIGHT, max(2, round(_PAINTED_HEIGHT * size.width / size.height))
    room = np.empty((height, width, 3), np.float32)
    room[:] = _WALLS[int(random.integers(len(_WALLS)))]
    room *= 1 + 0.10 * _clouds(random, height, width)[..., None]
    _furnish(room, random)
    room = cv2.GaussianBlur(room, (0, 0), 4.0).astype(np.float32)
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    room *= (1.06 - 0.22 * (0.6 * (x - 0.3) ** 2 + 0.5 * y**2))[..., None]
    rgb = np.clip(cv2.resize(room, (size.width, size.height), interpolation=cv2.INTER_CUBIC), 0, 255)
    yuv = to_yuv(rgb.astype(np.uint8), color)
    half = (size.width // 2, size.height // 2)
    chroma = cv2.resize(yuv[..., 1:], half, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(yuv[..., 0]), np.ascontiguousarray(chroma, np.uint8)


def _clouds(random: np.random.Generator, height: int, width: int) -> npt.NDArray[np.float32]:
    """Soft mottles in about −1…1."""
    clouds = np.zeros((height, width), np.float32)
    for cells, share in ((4, 0.6), (9, 0.3), (21, 0.15)):
        coarse = random.standard_normal((cells, cells * 2)).astype(np.float32)
        clouds += share * cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return clouds


def _furnish(room: npt.NDArray[np.float32], random: np.random.Generator) -> None:
    """Put a shelf with things and a picture on the wall."""
    height, width = room.shape[:2]
    board = int(height * random.uniform(0.55, 0.7))
    side = int(width * random.choice([0.0, 0.62]))
    x = side
    while x < side + 0.38 * width:
        thickness, tall = int(random.integers(3, 12)), int(random.integers(14, 40))
        colour = _THINGS[int(random.integers(len(_THINGS)))]
        cv2.rectangle(room, (x, board - tall), (x + thickness, board), colour, -1)
        x += thickness + int(random.integers(0, 5))
    cv2.rectangle(room, (side, board), (side + int(0.38 * width), board + 4), (88, 66, 50), -1)
    left, top = int(width * random.uniform(0.4, 0.75)), int(height * random.uniform(0.05, 0.2))
    cv2.rectangle(room, (left, top), (left + 46, top + 34), (60, 52, 46), -1)
    cv2.rectangle(room, (left + 3, top + 3), (left + 43, top + 31), (150, 166, 172), -1)


class Grain:
    """Sensor noise of a standard deviation in code values; the same for the same frame."""

    def __init__(self, size: Size, deviation: float, seed: int) -> None:
        random = np.random.default_rng([seed, 0x6772])
        shape = (size.height + _GRAIN_MARGIN, size.width + _GRAIN_MARGIN)
        noise = np.rint(random.normal(0, deviation, shape)).clip(-127, 127)
        # Two saturating 8-bit passes take 0.1 ms at 720p; one sum in 16 bits takes 1 ms.
        self._lighter, self._darker = (
            noise.clip(0, None).astype(np.uint8),
            (-noise).clip(0, None).astype(np.uint8),
        )
        self._seed = seed

    def add(self, luma: Plane, frame: int) -> None:
        """Add the grain of a frame to a luma plane."""
        hashed = (frame * 2654435761 + self._seed) & 0xFFFFFFFF
        y, x = hashed % _GRAIN_MARGIN, hashed // 97 % _GRAIN_MARGIN
        window = np.s_[y : y + luma.shape[0], x : x + luma.shape[1]]
        cv2.add(luma, self._lighter[window], dst=luma)
        cv2.subtract(luma, self._darker[window], dst=luma)
