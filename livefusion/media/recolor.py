"""Pictures of one colour description in another one, without a way through RGB."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import LUMA_WEIGHTS, ColorInfo, Matrix

Plane = npt.NDArray[np.uint8]


class Recolorer:
    """Converts 4:2:0 pictures to the matrix and range of ``target``; transfer and primaries stay.

    Pictures that have them already pass through untouched. Buffers are kept from picture to picture. Luma
    needs chroma of its own resolution; a correction from the half-sized chroma, scaled up, is off by less
    than one code value on real pictures.
    """

    def __init__(self, target: ColorInfo) -> None:
        self._target = target
        self._color: ColorInfo | None = None
        self._luma = self._chroma = np.empty((0, 0), np.uint8)

    def recolor(self, luma: Plane, chroma: Plane, color: ColorInfo) -> tuple[Plane, Plane]:
        """Luma (h, w) and chroma (h/2, w/2, 2) of a picture in ``color``, valid until the next call."""
        if color.matrix is self._target.matrix and color.range is self._target.range:
            return luma, chroma
        if self._color != color:
            self._prepare(color)
        self._fit_buffers(luma, chroma)
        if color.matrix is not self._target.matrix:
            cv2.transform(chroma, self._luma_from_chroma, self._shift)
            cv2.resize(self._shift, luma.shape[::-1], self._shift_full, 0, 0, cv2.INTER_LINEAR)
            cv2.addWeighted(luma, self._gain, self._shift_full, 1.0, self._offset - 128.0, self._luma)
        else:
            cv2.addWeighted(luma, self._gain, luma, 0.0, self._offset, self._luma)
        cv2.transform(chroma, self._chroma_from_chroma, self._chroma)
        return self._luma, self._chroma

    def _prepare(self, color: ColorInfo) -> None:
        """The affine maps from code values to code values."""
        target = self._target
        matrix = _rgb_to_yuv(target.matrix) @ np.linalg.inv(_rgb_to_yuv(color.matrix))
        chroma_gain = target.chroma_span / color.chroma_span
        self._gain = target.luma_span / color.luma_span
        self._offset = target.luma_offset - color.luma_offset * self._gain
        # What Cb and Cr add to luma, around 128 so that it fits into a byte.
        row = matrix[0, 1:] * target.luma_span / color.chroma_span
        self._luma_from_chroma = np.array([[*row, 128.0 - 128.0 * row.sum()]], np.float32)
        block = matrix[1:, 1:] * chroma_gain
        self._chroma_from_chroma = np.column_stack([block, 128.0 - 128.0 * block.sum(axis=1)]).astype(
            np.float32
        )
        self._color = color

    def _fit_buffers(self, luma: Plane, chroma: Plane) -> None:
        if self._luma.shape != luma.shape:
            self._luma, self._shift_full = np.empty_like(luma), np.empty_like(luma)
            self._chroma, self._shift = np.empty_like(chroma), np.empty(chroma.shape[:2], np.uint8)


def _rgb_to_yuv(matrix: Matrix) -> npt.NDArray[np.float64]:
    """(3, 3): Y in 0…1 and Cb, Cr in ±½ from R, G, B in 0…1."""
    kr, kb = LUMA_WEIGHTS[matrix]
    luma = np.array([kr, 1 - kr - kb, kb])
    blue = (np.array([0.0, 0.0, 1.0]) - luma) / (2 * (1 - kb))
    red = (np.array([1.0, 0.0, 0.0]) - luma) / (2 * (1 - kr))
    return np.stack([luma, blue, red])
