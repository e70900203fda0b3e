"""A picture on the host, in the forms in which measures look at it."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Size
from livefusion.ops.registry import NV12_TO_RGB

Plane = npt.NDArray[np.uint8]
Rgb = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Picture:
    """``luma`` (h, w) and ``chroma`` (h/2, w/2, 2) uint8 of a picture, owned by it."""

    luma: Plane
    chroma: Plane
    color: ColorInfo

    @property
    def size(self) -> Size:
        """Its size."""
        return Size(self.luma.shape[1], self.luma.shape[0])

    @cached_property
    def rgb(self) -> Rgb:
        """(h, w, 3) RGB."""
        rgb = np.empty((*self.luma.shape, 3), np.uint8)
        NV12_TO_RGB.body("cpu")(luma=self.luma, chroma=self.chroma, rgb=rgb, color=self.color)
        return rgb

    def changed_from(self, other: "Picture") -> npt.NDArray[np.bool_]:
        """(h, w) pixels whose luma differs, or the chroma sample that they share with their neighbours."""
        luma = self.luma != other.luma
        chroma = (self.chroma != other.chroma).any(axis=2)
        return np.asarray(luma | chroma.repeat(2, axis=0).repeat(2, axis=1), np.bool_)


def lab(rgb: Rgb) -> Floats:
    """CIE L*a*b* (D65) of RGB pixels of any shape (…, 3), as float32."""
    pixels = np.ascontiguousarray(rgb, np.uint8).reshape(1, -1, 3).astype(np.float32) / 255
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB), np.float32).reshape(rgb.shape)
