"""What passes in front of the performer's face: a hand or a bar, with exactly known alpha."""

import math
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.media.sources.performer_layer import to_yuv
from livefusion.media.sources.performer_options import Occluder
from livefusion.ops.registry import BLEND_YUVA

Picture = npt.NDArray[np.uint8]

_SECONDS = 6.0
_SKIN, _SKIN_SHADE, _SLEEVE = (214, 166, 140), (168, 116, 94), (206, 88, 50)
_METAL, _METAL_SHADE = (126, 128, 132), (44, 45, 48)
# Finger tips and roots of the hand, in its own heights from the top middle of the palm.
_FINGERS = (
    ((-0.21, 0.07), (-0.10, 0.38), 0.044),
    ((-0.075, 0.0), (-0.035, 0.36), 0.048),
    ((0.065, 0.02), (0.035, 0.36), 0.046),
    ((0.19, 0.10), (0.10, 0.39), 0.040),
    ((-0.33, 0.36), (-0.10, 0.58), 0.050),
)


class PassingOccluder:
    """A patch ``pixels`` (h, w, 4) uint8 Y, Cb, Cr, A that moves over a face of a given height.

    It passes once in ``_SECONDS``, or in the nearest part of ``loop`` seconds.
    """

    def __init__(self, kind: Occluder, face_height: float, color: ColorInfo, loop: float | None) -> None:
        self._kind = kind
        self._height = face_height
        self._period = _SECONDS if loop is None else loop / max(1, round(loop / _SECONDS))
        self.pixels = _hand(face_height, color) if kind is Occluder.HAND else _bar(face_height, color)

    @property
    def alpha(self) -> Picture:
        """Its (h, w) alpha, 255 where it hides what is behind."""
        return self.pixels[..., 3]

    def at(self, seconds: float, face: tuple[float, float]) -> tuple[int, int]:
        """The even place of its top left corner over a face whose middle is ``face``."""
        phase = 2 * math.pi * seconds / self._period
        height, width = self.pixels.shape[:2]
        if self._kind is Occluder.HAND:
            # Up from below the chin to the nose and down again; for a third of the time it is out of the way.
            rise = max(0.0, 0.35 - math.cos(phase)) / 1.35
            x, y = (
                face[0] + 0.25 * self._height * math.sin(phase),
                face[1] + (1.35 - 1.5 * rise) * self._height,
            )
            return _even(x - width / 2), _even(y)
        x = face[0] - 1.1 * self._height * math.cos(phase)
        return _even(x - width / 2), _even(face[1] - height / 2)

    def draw(self, luma: Picture, chroma: Picture, at: tuple[int, int]) -> None:
        """Draw it over NV12 planes with its top left corner at an even place."""
        BLEND_YUVA.body("cpu")(luma=luma, chroma=chroma, patch=self.pixels, x=at[0], y=at[1])


def _hand(face_height: float, color: ColorInfo) -> Picture:
    """An open hand and its forearm, from a little way above the finger tips down."""
    unit = 1.1 * face_height
    height, width = _even(3.2 * unit), _even(0.9 * unit)
    alpha, light = np.zeros((height, width), np.uint8), np.zeros((height, width), np.float32)
    origin = np.array([width / 2, 0.09 * unit])

    def limb(first: tuple[float, float], last: tuple[float, float], radius: float) -> None:
        ends = [tuple(np.rint(origin + unit * np.array(end)).astype(int).tolist()) for end in (first, last)]
        cv2.line(alpha, ends[0], ends[1], 255, max(1, round(2 * unit * radius)), cv2.LINE_AA)
        cv2.line(light, ends[0], ends[1], 1.0, max(1, round(1.1 * unit * radius)), cv2.LINE_AA)

    for finger in _FINGERS:
        limb(*finger)
    limb((0.0, 0.44), (0.0, 0.60), 0.145)
    limb((0.01, 0.62), (0.02, 3.4), 0.105)
    shade = cv2.GaussianBlur(light, (0, 0), 0.035 * unit)[..., None]
    rgb = np.array(_SKIN_SHADE) * (1 - shade) + np.array(_SKIN) * shade
    cuff = origin[1] + 1.15 * unit
    rgb[int(cuff) :] = (np.array(_SLEEVE) * (0.7 + 0.3 * shade))[int(cuff) :]
    return _patch(rgb, cv2.GaussianBlur(alpha, (0, 0), 0.7), color)


def _bar(face_height: float, color: ColorInfo) -> Picture:
    """An upright metal bar, as of a microphone stand, taller than the face."""
    height, width = _even(2.6 * face_height), max(4, _even(0.2 * face_height))
    across = np.sin(np.linspace(0, math.pi, width - 2)) ** 0.7
    shade = np.pad(across, 1)[None, :, None]
    rgb = np.broadcast_to(np.array(_METAL_SHADE) * (1 - shade) + np.array(_METAL) * shade, (height, width, 3))
    alpha = np.full((height, width), 255, np.uint8)
    alpha[:, [0, -1]] = 128
    return _patch(rgb, alpha, color)


def _patch(rgb: npt.NDArray[np.floating], alpha: npt.NDArray[Any], color: ColorInfo) -> Picture:
    yuv = to_yuv(np.clip(rgb, 0, 255).astype(np.uint8), color)
    return np.ascontiguousarray(np.dstack([yuv, alpha.astype(np.uint8)]), np.uint8)


def _even(value: float) -> int:
    return 2 * round(value / 2)
