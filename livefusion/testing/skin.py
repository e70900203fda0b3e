"""Whether a face of a source picture can be seen in another picture, judged by its bytes alone.

A sensor's grain makes two drawings of the same skin differ in most bytes. So bytes of inner skin that equal
those of the source were copied: next to all of them in a raw face, one in twenty by chance in any other.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.media.sources.performer_truth import FaceTruth

Plane = npt.NDArray[np.uint8]

# Convex outlines on the 478-point mesh. Eyes and mouth are left out: by design they stay the performer's.
_PARTS = {
    "left cheek": (116, 117, 118, 101, 36, 205, 187, 123),
    "right cheek": (345, 346, 347, 330, 266, 425, 411, 352),
    "nose": (6, 197, 195, 4, 48, 278, 114, 343),
}
RAW_SHARE = 0.5
"""A face is raw if more than this share of its inner skin is the source's, byte for byte."""
_LEAST_PIXELS = 24


@dataclass(frozen=True, slots=True, eq=False)
class Skin:
    """The visible inner skin of one face: flat indices of pixels in the luma plane, by part."""

    parts: dict[str, npt.NDArray[np.intp]]

    @staticmethod
    def of(truth: FaceTruth, shape: tuple[int, int]) -> "Skin":
        """The skin of a drawn face in a picture of ``shape`` (height, width); hidden parts are left out."""
        parts = {}
        for name, points in _PARTS.items():
            if truth.hidden[list(points)].any():
                continue
            mask = np.zeros(shape, np.uint8)
            outline = cv2.convexHull(np.rint(truth.landmarks[list(points), :2]).astype(np.int32))
            cv2.fillConvexPoly(mask, outline, 1)
            pixels = np.flatnonzero(mask)
            if len(pixels) >= _LEAST_PIXELS:
                parts[name] = pixels
        return Skin(parts)

    def untouched(self, source: Plane, shown: Plane) -> float:
        """Share in [0, 1] of the skin's luma bytes that are equal in both (h, w) planes; 0 if none shows."""
        if not self.parts:
            return 0.0
        pixels = np.concatenate(list(self.parts.values()))
        return float(np.mean(source.reshape(-1)[pixels] == shown.reshape(-1)[pixels]))
