"""How sharp a photo is."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.swap.intake.criterion import Criterion, graded
from livefusion.swap.mesh.canonical import INNER_LIPS, OUTER_EYE_CORNERS, Floats

# The inner face is looked at in a crop of this side, or of its own size if it is smaller.
_CROP = 192
# Variance that rounding to whole levels gives.
_ROUNDING = 1 / 12


def sharpness(rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> Criterion:
    """Energy of the finest octave of the inner face over that of the third: light does not change it."""
    octaves = []
    picture = _inner_face(rgb, landmarks)
    for _ in range(3):
        half = cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        back = cv2.resize(half, picture.shape[::-1], interpolation=cv2.INTER_LINEAR)
        octaves.append(float(np.std(picture - back)))
        picture = np.asarray(half, np.float32)
    finest = np.sqrt(max(octaves[0] ** 2 - _ROUNDING, 0.0))
    ratio = float(finest / max(octaves[2], 1e-3))
    return Criterion(
        "sharpness",
        graded(ratio, (0.05, 0), (0.18, 70), (0.3, 100)),
        "the face is blurred",
        "hold the camera still, wipe the lens, and focus on the eyes",
    )


def _inner_face(rgb: npt.NDArray[np.uint8], landmarks: Landmarks) -> Floats:
    """A square grey crop with level eyes, averaged where it shrinks and never enlarged."""
    right, left = (landmarks[index, :2].astype(np.float64) for index in OUTER_EYE_CORNERS)
    middle = landmarks[list(INNER_LIPS), :2].mean(axis=0)
    centre = (right + left + 2 * middle) / 4
    side = max(32, min(_CROP, round(1.25 * float(np.hypot(*(left - right))))))
    along = (left - right) * 1.25 / side
    down = np.array([-along[1], along[0]])
    matrix = np.column_stack([along, down, centre - (along + down) * (side - 1) / 2])
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    shrink = float(np.hypot(*along)) / 2
    if shrink > 0.5:
        grey = cv2.GaussianBlur(grey, (0, 0), shrink * 0.8)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    crop = cv2.warpAffine(grey, matrix, (side, side), flags=flags, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(crop, np.float32)
