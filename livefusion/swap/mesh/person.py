"""Which part of a photo is the person: what lies beside a turned cheek is background, not skin."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.swap.mesh.bake import SourcePhoto, draw_on_texture, inside_outline
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import VERTEX_COUNT, Floats

_SIDE = 256
# The network sees the head with what is around it, this many faces wide: it was trained on such pictures.
_FACES_WIDE = 2.6
# Texels by which the border is drawn in, and its softness: the network's own border is a few pixels wide.
_MARGIN, _SOFTEN = 31, 10.0


class PersonFinder:
    """Tells the person from what is behind. One thread at a time.

    ``ModelError`` if the network is missing or damaged.
    """

    def __init__(self) -> None:
        self._network = Session(ModelRegistry.load()["selfie_segmentation"])

    def share(self, photo: SourcePhoto) -> Floats:
        """(1024, 1024) in [0, 1]: 1 where a texel shows the person, 0 where it shows what is behind."""
        points = photo.landmarks[:VERTEX_COUNT, :2].astype(np.float32)
        crop, scale, origin = _around(photo.rgb, points)
        image = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], np.float32) / np.float32(255)
        alpha = self._network.run({"image": image})["alpha"][0, 0].copy()
        texels = draw_on_texture((points - origin) * scale)
        # Two maps: with both in one, OpenCV 5.0.0 reads floats from outside the picture.
        columns, rows = (np.ascontiguousarray(texels[..., axis]) for axis in range(2))
        share = cv2.remap(alpha, columns, rows, cv2.INTER_LINEAR)
        share[~inside_outline()] = 1
        drawn_in = cv2.erode(share, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_MARGIN, _MARGIN)))
        return low_pass(drawn_in, _SOFTEN)


def _around(rgb: npt.NDArray[np.uint8], points: Floats) -> tuple[npt.NDArray[np.uint8], float, Floats]:
    """A (256, 256, 3) crop round the face, its scale, and where its first pixel lies."""
    reach = _FACES_WIDE * float(np.ptp(points, axis=0).max()) / 2
    origin = (points.min(axis=0) + points.max(axis=0)) / 2 - reach
    scale = _SIDE / (2 * reach)
    matrix = np.array([[scale, 0, -origin[0] * scale], [0, scale, -origin[1] * scale]])
    if scale < 0.5:
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.4 / scale), np.uint8)
    crop = cv2.warpAffine(rgb, matrix, (_SIDE, _SIDE), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(crop, np.uint8), scale, origin.astype(np.float32)
