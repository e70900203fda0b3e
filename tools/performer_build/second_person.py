"""A second person made of the first one's photo: mirrored, of other proportions and colouring."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
Points = npt.NDArray[np.float64]

# The suit is what is orange, by hue in OpenCV's half degrees and saturation, this far below the middle of the
# oval in face heights; it becomes blue.
SUIT_HUES, SUIT_SATURATION, SUIT_BELOW, SUIT_TURN = (170, 18), 90, 0.72, 102
# RGB gains and gamma of darker skin and hair.
GAINS, GAMMA = (0.86, 0.74, 0.66), 1.25
# What is moved: centre and radii in face heights from the middle of the oval, relative growth across and
# down, shift down in face heights. Eyes larger, nose short and narrow, mouth wide, jaw narrow. More than this
# looks like a caricature, and for a recogniser it is still the same person: hence the disguise.
CHANGES = (
    ((0.0, -0.13), (0.34, 0.10), (0.10, 0.20), -0.015),
    ((0.0, 0.03), (0.14, 0.17), (-0.26, -0.10), -0.03),
    ((0.0, 0.24), (0.20, 0.12), (0.22, 0.20), -0.02),
    ((0.0, 0.35), (0.60, 0.30), (-0.12, 0.0), 0.0),
)


def make_second_person(rgba: Picture, landmarks: npt.NDArray[np.float32], oval: tuple[int, ...]) -> Picture:
    """Another person in the same clothes and pose, as (h, w, 4) RGBA; ``landmarks`` lie in ``rgba``."""
    points = landmarks[list(oval), :2].astype(np.float64)
    middle, height = (points.min(axis=0) + points.max(axis=0)) / 2, float(np.ptp(points[:, 1]))
    shaped = _reshaped(rgba, middle, height)
    rgb = _recoloured(shaped[..., :3].copy(), middle, height)
    return np.ascontiguousarray(np.dstack([rgb, shaped[..., 3]])[:, ::-1])


def _reshaped(rgba: Picture, middle: Points, height: float) -> Picture:
    """Move the features of the face: for each pixel find, by iteration, the place that moves onto it."""
    y, x = np.mgrid[0 : rgba.shape[0], 0 : rgba.shape[1]].astype(np.float64)
    goal = (np.stack([x, y], axis=-1) - middle) / height
    at = goal.copy()
    for _ in range(20):
        at -= _moved(at) - goal
    back = (at * height + middle).astype(np.float32)
    border = cv2.BORDER_REPLICATE
    reshaped = cv2.remap(rgba, back[..., 0], back[..., 1], cv2.INTER_CUBIC, borderMode=border)
    return reshaped.astype(np.uint8)


def _moved(at: Points) -> Points:
    moved = at.copy()
    for centre, radii, growth, down in CHANGES:
        away = at - np.array(centre)
        near = np.exp(-((away / np.array(radii)) ** 2).sum(axis=-1, keepdims=True))
        moved += near * (away * np.array(growth) + np.array([0, down]))
    return moved


def _recoloured(rgb: Picture, middle: Points, height: float) -> Picture:
    hsv = cv2.cvtColor(rgb, cv2.COLOR_RGB2HSV)
    is_orange = (hsv[..., 0] >= SUIT_HUES[0]) | (hsv[..., 0] <= SUIT_HUES[1])
    suit = (is_orange & (hsv[..., 1] > SUIT_SATURATION)).astype(np.float32)
    suit[: round(middle[1] + SUIT_BELOW * height)] = 0
    share: Any = cv2.GaussianBlur(suit, (0, 0), 1.5)[..., None]
    hsv[..., 0] = (hsv[..., 0] + SUIT_TURN) % 180
    blue = 0.8 * cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB).astype(np.float32)
    darker = 255 * (rgb / np.float32(255)) ** GAMMA * np.array(GAINS, np.float32)
    mixed: Picture = np.rint(share * blue + (1 - share) * darker).clip(0, 255).astype(np.uint8)
    return mixed
