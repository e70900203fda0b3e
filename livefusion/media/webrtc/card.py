"""The picture that stands in while nobody sends."""

from typing import Any

import av
import cv2
import numpy as np

from livefusion.core.color import ColorInfo, Range
from livefusion.core.geometry import Size
from livefusion.media.h273 import write_color

TEXT = "Waiting for a picture"
_DARK, _BRIGHT, _NEUTRAL = 40, 180, 128
_FONT, _SHARE = cv2.FONT_HERSHEY_SIMPLEX, 0.5


def waiting_card(size: Size, color: ColorInfo) -> Any:
    """A dark ``av.VideoFrame`` (yuv420p) that says so, in that size and colour description."""
    planes = np.full((size.height * 3 // 2, size.width), _NEUTRAL, np.uint8)
    luma = planes[: size.height]
    luma.fill(_DARK if color.range is Range.LIMITED else _DARK - 16)
    (width, height), _ = cv2.getTextSize(TEXT, _FONT, 1.0, 1)
    scale = _SHARE * size.width / width
    corner = (round((size.width - width * scale) / 2), round((size.height + height * scale) / 2))
    thickness = max(1, round(scale))
    cv2.putText(luma, TEXT, corner, _FONT, scale, (_BRIGHT,), thickness, cv2.LINE_AA)
    card = av.VideoFrame.from_ndarray(planes, format="yuv420p")
    write_color(card, color)
    return card
