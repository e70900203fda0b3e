"""A person as a texture in the colours and at the scale of the picture."""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.media.sources.performer_photo import PerformerPhoto
from livefusion.ops.yuv import CHROMA_ZERO, RgbToYuv

Points = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]

# Room above the photo for a head that rises, in pixels of the photo.
_HEADROOM = 40
# Rows below the person that hold the colours inside the mouth, from behind the teeth to the lower lip.
THROAT_ROWS = 16
_THROAT_TOP, _THROAT_BOTTOM = (26, 10, 10), (96, 44, 42)


@dataclass(frozen=True, slots=True, eq=False)
class PersonLayer:
    """``texture`` (h + THROAT_ROWS, w, 4) uint8 Y, Cb, Cr, A with h and w even.

    ``landmarks`` (478, 3) are in its texels. The last ``THROAT_ROWS`` rows are the inside of the mouth and no
    part of the person.
    """

    texture: Picture
    landmarks: Points

    @property
    def body(self) -> Picture:
        """The person without the rows below."""
        return self.texture[:-THROAT_ROWS]

    @property
    def throat(self) -> tuple[float, float]:
        """The texel rows (first, last) between which the mouth's inside lies."""
        return self.texture.shape[0] - THROAT_ROWS + 1.0, self.texture.shape[0] - 2.0


def make_layer(photo: PerformerPhoto, scale: float, color: ColorInfo) -> PersonLayer:
    """The person, ``scale`` times as large as in the photo."""
    rgb = cv2.copyMakeBorder(photo.rgb, _HEADROOM, 0, 0, 0, cv2.BORDER_REPLICATE)
    alpha = cv2.copyMakeBorder(photo.alpha, _HEADROOM, 0, 0, 0, cv2.BORDER_CONSTANT)
    height, width = rgb.shape[:2]
    size = (_even(width * scale), _even(height * scale))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    scaled = _sharpened(cv2.resize(rgb, size, interpolation=method).astype(np.uint8), scale)
    yuv = to_yuv(scaled, color)
    person = np.dstack([yuv, cv2.resize(alpha, size, interpolation=method)])
    throat = np.linspace(_THROAT_TOP, _THROAT_BOTTOM, THROAT_ROWS)[:, None].repeat(size[0], axis=1)
    below = np.dstack([to_yuv(throat.astype(np.uint8), color), np.full(throat.shape[:2], 255, np.uint8)])
    zoom = np.array([size[0] / width, size[1] / height])
    # Pixel centres are whole numbers: the photo's corner lies at (−0.5, −0.5) in both.
    points = photo.landmarks.astype(np.float64) + np.array([0.5, 0.5 + _HEADROOM, 0])
    landmarks = np.column_stack([points[:, :2] * zoom - 0.5, points[:, 2] * zoom.mean()])
    return PersonLayer(np.ascontiguousarray(np.vstack([person, below]), np.uint8), landmarks)


def to_yuv(rgb: npt.NDArray[np.uint8], color: ColorInfo) -> Picture:
    """(h, w, 3) RGB to Y, Cb, Cr of the colour description, full chroma resolution."""
    k = RgbToYuv.of(color)
    matrix = np.array([[*k.luma, k.luma_offset], [*k.cb, CHROMA_ZERO], [*k.cr, CHROMA_ZERO]])
    return cv2.transform(rgb, matrix).astype(np.uint8)


def _sharpened(rgb: Picture, scale: float) -> Picture:
    """Win back some of the crispness that enlarging takes."""
    if scale <= 1:
        return rgb
    soft = cv2.GaussianBlur(rgb, (0, 0), 0.6 * scale)
    amount = min(0.8, 0.35 * scale)
    return cv2.addWeighted(rgb, 1 + amount, soft, -amount, 0).astype(np.uint8)


def _even(value: float) -> int:
    return 2 * max(1, round(value / 2))
