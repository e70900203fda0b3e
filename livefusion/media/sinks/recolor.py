"""Pictures in the colours that a receiver takes for granted, because no tag reaches it."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import LUMA_WEIGHTS, ColorInfo, Matrix, Range

Plane = npt.NDArray[np.uint8]


class Recolorer:
    """Converts 4:2:0 pictures to BT.601, limited range; buffers are kept from picture to picture.

    Luma needs chroma of its own resolution; a correction from the half-sized chroma, scaled up, is off by
    less than one code value on real pictures. Colours in that range already pass through untouched.
    """

    def __init__(self) -> None:
        self._color: ColorInfo | None = None
        self._luma = self._chroma = np.empty((0, 0), np.uint8)

    def to_webcam(self, luma: Plane, chroma: Plane, color: ColorInfo) -> tuple[Plane, Plane]:
        """Luma (h, w) and chroma (h/2, w/2, 2) in BT.601 limited, valid until the next call."""
        if color.matrix is Matrix.BT601 and color.range is Range.LIMITED:
            return luma, chroma
        if self._color != color:
            self._prepare(color)
        self._fit_buffers(luma, chroma)
        if color.matrix is not Matrix.BT601:
            cv2.transform(chroma, self._luma_from_chroma, self._shift)
            cv2.resize(self._shift, luma.shape[::-1], self._shift_full, 0, 0, cv2.INTER_LINEAR)
            cv2.addWeighted(luma, self._gain, self._shift_full, 1.0, self._offset - 128.0, self._luma)
        else:
            cv2.convertScaleAbs(luma, self._luma, self._gain, self._offset)
        cv2.transform(chroma, self._chroma_from_chroma, self._chroma)
        return self._luma, self._chroma

    def _prepare(self, color: ColorInfo) -> None:
        """The affine maps from code values to code values."""
        matrix = _to_bt601(color.matrix)
        luma_gain, chroma_gain = 219.0 / color.luma_span, 224.0 / color.chroma_span
        self._gain = luma_gain
        self._offset = 16.0 - color.luma_offset * luma_gain
        # What Cb and Cr add to luma, around 128 so that it fits into a byte.
        row = matrix[0, 1:] * 219.0 / color.chroma_span
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


def _to_bt601(matrix: Matrix) -> npt.NDArray[np.float64]:
    """(3, 3): Y, Cb, Cr of BT.601 from those of ``matrix``, with Y in 0…1 and Cb, Cr in ±½."""
    result: npt.NDArray[np.float64] = _rgb_to_yuv(Matrix.BT601) @ np.linalg.inv(_rgb_to_yuv(matrix))
    return result


def _rgb_to_yuv(matrix: Matrix) -> npt.NDArray[np.float64]:
    kr, kb = LUMA_WEIGHTS[matrix]
    luma = np.array([kr, 1 - kr - kb, kb])
    blue = (np.array([0.0, 0.0, 1.0]) - luma) / (2 * (1 - kb))
    red = (np.array([1.0, 0.0, 0.0]) - luma) / (2 * (1 - kr))
    return np.stack([luma, blue, red])
