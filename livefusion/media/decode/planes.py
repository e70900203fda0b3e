"""The planes of a decoded picture as NumPy sees them, without a copy."""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
from av.video.reformatter import Interpolation, VideoReformatter

from livefusion.core.color import ColorInfo, Range
from livefusion.core.geometry import Size
from livefusion.media.h273 import is_grey, is_rgb, range_code, swscale_matrix

Plane = npt.NDArray[np.uint8]

_AS_IT_LIES = frozenset({"yuv420p", "yuvj420p", "nv12", "gray"})
_NEUTRAL = 128


@dataclass(frozen=True, slots=True, eq=False)
class DecodedPlanes:
    """An 8-bit 4:2:0 picture of even size, cropped but not yet turned.

    ``luma`` is (h, w) uint8. ``chroma`` is one (h/2, w/2, 2) uint8 plane or two of (h/2, w/2).
    A grey picture has none. They lie in the memory of ``owner``, which keeps it alive.
    """

    luma: Plane
    chroma: tuple[Plane, ...]
    owner: Any

    def write_chroma(self, out: Plane) -> None:
        """Write Cb and Cr interleaved into ``out`` (h/2, w/2, 2)."""
        if not self.chroma:
            out.fill(_NEUTRAL)
        elif len(self.chroma) == 1:
            np.copyto(out, self.chroma[0])
        else:
            # 0.01 ms at 720p; two strided NumPy copies take 0.11 ms.
            cv2.merge(self.chroma, out)


class PlaneReader:
    """Gives the planes of any ``av.VideoFrame``: 8-bit 4:2:0 as it lies, all others through swscale."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()

    def read(self, frame: Any, color: ColorInfo) -> DecodedPlanes:
        """The planes, cropped to even size, in the matrix and range of ``color``."""
        size = Size(frame.width, frame.height).even
        if frame.format.name not in _AS_IT_LIES or any(plane.line_size < 0 for plane in frame.planes):
            frame = self._reformat(frame, color)
        luma = _view(frame.planes[0], size.height, size.width)
        rows, columns = size.height // 2, size.width // 2
        if frame.format.name == "nv12":
            pairs = _view(frame.planes[1], rows, size.width).reshape(rows, columns, 2)
            return DecodedPlanes(luma, (pairs,), frame)
        chroma = tuple(_view(plane, rows, columns) for plane in frame.planes[1:3])
        return DecodedPlanes(luma, chroma, frame)

    def _reformat(self, frame: Any, color: ColorInfo) -> Any:
        """Through swscale, matrix and range stated on both sides; alpha is left out, not blended."""
        matrix, code = swscale_matrix(color.matrix), range_code(color.range)
        return self._reformatter.reformat(
            frame,
            format="gray" if is_grey(frame) else "nv12",
            src_colorspace=matrix,
            dst_colorspace=matrix,
            src_color_range=range_code(Range.FULL) if is_rgb(frame) else code,
            dst_color_range=code,
            interpolation=Interpolation.BILINEAR | Interpolation.ACCURATE_RND,
            threads=1,
        )


def _view(plane: Any, rows: int, columns: int) -> Plane:
    """The first rows and columns of an ``av.VideoPlane``, whose lines may be padded."""
    lines = np.frombuffer(plane, np.uint8, rows * plane.line_size).reshape(rows, plane.line_size)
    return lines[:, :columns]
