"""What a colour description means in numbers: coefficients between YCbCr and RGB, and where chroma lies."""

from dataclasses import dataclass
from functools import cache

from livefusion.core.color import ColorInfo, Siting

CHROMA_ZERO = 128.0
"""Code value of no colour, in both ranges."""


@dataclass(frozen=True, slots=True)
class YuvToRgb:
    """8-bit YCbCr to RGB in 0–255, after ITU-T H.273 §8.3::

    l = (Y − luma_offset) · luma_gain
    R = l + red_cr · (Cr − 128)
    G = l + green_cb · (Cb − 128) + green_cr · (Cr − 128)
    B = l + blue_cb · (Cb − 128)
    """

    luma_offset: float
    luma_gain: float
    red_cr: float
    green_cb: float
    green_cr: float
    blue_cb: float

    @staticmethod
    @cache
    def of(color: ColorInfo) -> "YuvToRgb":
        """The coefficients of a colour description."""
        kr, kb = color.luma_weights
        kg = 1.0 - kr - kb
        gain = 255.0 / color.chroma_span
        return YuvToRgb(
            luma_offset=color.luma_offset,
            luma_gain=255.0 / color.luma_span,
            red_cr=2 * (1 - kr) * gain,
            green_cb=-2 * (1 - kb) * kb / kg * gain,
            green_cr=-2 * (1 - kr) * kr / kg * gain,
            blue_cb=2 * (1 - kb) * gain,
        )

    def values(self) -> tuple[float, float, float, float, float, float]:
        """The six numbers in the order in which they are declared."""
        return (
            self.luma_offset,
            self.luma_gain,
            self.red_cr,
            self.green_cb,
            self.green_cr,
            self.blue_cb,
        )


@dataclass(frozen=True, slots=True)
class RgbToYuv:
    """RGB in 0–255 to 8-bit YCbCr: each plane is its offset and a weighted sum of (R, G, B)."""

    luma_offset: float
    luma: tuple[float, float, float]
    cb: tuple[float, float, float]
    cr: tuple[float, float, float]

    @staticmethod
    @cache
    def of(color: ColorInfo) -> "RgbToYuv":
        """The coefficients of a colour description."""
        kr, kb = color.luma_weights
        kg = 1.0 - kr - kb
        luma, chroma = color.luma_span / 255.0, color.chroma_span / 255.0
        blue, red = chroma / (2 * (1 - kb)), chroma / (2 * (1 - kr))
        return RgbToYuv(
            luma_offset=color.luma_offset,
            luma=(kr * luma, kg * luma, kb * luma),
            cb=(-kr * blue, -kg * blue, (1 - kb) * blue),
            cr=((1 - kr) * red, -kg * red, -kb * red),
        )


def chroma_origin(siting: Siting) -> tuple[float, float]:
    """The (x, y) of the first chroma sample in luma pixels; samples are 2 luma pixels apart."""
    return (0.0, 0.5) if siting is Siting.LEFT else (0.5, 0.5)
