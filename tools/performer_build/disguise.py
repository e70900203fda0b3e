"""Beard, brows and glasses painted on a face, so that a face recogniser takes it for somebody else's."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
Plane = npt.NDArray[np.float32]
Points = npt.NDArray[np.float64]

# Loops of the MediaPipe face mesh: jaw with the line across cheeks and under the nose, lips, and brows.
BEARD = (
    132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361,
    361, 435, 434, 432, 410, 391, 393, 164, 167, 165, 186, 212, 214, 215, 132,
)  # fmt: skip
LIPS = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
BROWS = (
    (70, 63, 105, 66, 107, 55, 65, 52, 53, 46),
    (300, 293, 334, 296, 336, 285, 295, 282, 283, 276),
)
EYES, OUTER_EYE_CORNERS, TEMPLES = ((33, 133), (263, 362)), (33, 263), (127, 356)

BEARD_COLOUR, BEARD_SHARE, BEARD_UNEVENNESS = (58, 42, 30), 0.75, 0.13
BROW_COLOUR, BROW_SHARE = (50, 38, 28), 0.8
RIM_COLOUR, RIM_SHARE = (18, 18, 20), 0.92
# Of the distance of the outer eye corners: half axes, thickness and how far below the eyes.
RIM_RADII, RIM_THICKNESS, RIM_BELOW = (0.235, 0.19), 0.05, 0.03

# Shapes are drawn so many times larger and then averaged.
_FINE = 8


def disguised(rgb: Picture, landmarks: npt.NDArray[np.float32]) -> Picture:
    """The photo (h, w, 3) with beard, brows and glasses on the face of these (478, 3) landmarks."""
    points = landmarks[:, :2].astype(np.float64)
    shape = (rgb.shape[0], rgb.shape[1])
    painted = _painted(rgb.astype(np.float32), _beard(points, shape), BEARD_COLOUR)
    painted = _painted(painted, _brows(points, shape), BROW_COLOUR)
    painted = _painted(painted, _glasses(points, shape), RIM_COLOUR)
    return np.rint(painted).clip(0, 255).astype(np.uint8)


def _painted(rgb: Plane, share: Plane, colour: tuple[int, int, int]) -> Plane:
    painted: Plane = rgb * (1 - share[..., None]) + np.array(colour, np.float32) * share[..., None]
    return painted


def _beard(points: Points, shape: tuple[int, int]) -> Plane:
    skin = _filled([points[list(BEARD)]], shape, 2.2) * (
        1 - _filled([_grown(points[list(LIPS)], 1.05)], shape, 0.7)
    )
    noise = cv2.GaussianBlur(np.random.default_rng(1).normal(0, 1, shape), (0, 0), 0.6)
    thick: Plane = skin * (BEARD_SHARE + BEARD_UNEVENNESS * noise / noise.std())
    return thick.clip(0, 0.95)


def _brows(points: Points, shape: tuple[int, int]) -> Plane:
    brows = [_grown(points[list(brow)], 1.1) for brow in BROWS]
    return _filled(brows, shape, 0.9) * np.float32(BROW_SHARE)


def _glasses(points: Points, shape: tuple[int, int]) -> Plane:
    canvas = np.zeros((shape[0] * _FINE, shape[1] * _FINE), np.uint8)
    across = points[OUTER_EYE_CORNERS[1]] - points[OUTER_EYE_CORNERS[0]]
    unit = float(np.hypot(*across))
    along = across / unit
    down = np.array([-along[1], along[0]])
    thick = max(1, round(RIM_THICKNESS * unit * _FINE))
    angle = math.degrees(math.atan2(along[1], along[0]))
    radii = (round(RIM_RADII[0] * unit * _FINE), round(RIM_RADII[1] * unit * _FINE))
    centres = [points[list(eye)].mean(axis=0) + RIM_BELOW * unit * down for eye in EYES]
    for centre, temple, outward in zip(centres, TEMPLES, (-1, 1), strict=True):
        cv2.ellipse(canvas, _at(centre), radii, angle, 0, 360, 255, thick, cv2.LINE_AA)
        hinge = centre + unit * (outward * RIM_RADII[0] * along - 2 * RIM_BELOW * down)
        cv2.line(canvas, _at(hinge), _at(points[temple]), 255, thick, cv2.LINE_AA)
    bridge = [
        centre + unit * (inward * RIM_RADII[0] * along - RIM_BELOW * down)
        for centre, inward in zip(centres, (1, -1), strict=True)
    ]
    cv2.line(canvas, _at(bridge[0]), _at(bridge[1]), 255, thick, cv2.LINE_AA)
    return _shrunk(canvas, shape) * np.float32(RIM_SHARE)


def _filled(outlines: list[Points], shape: tuple[int, int], softness: float) -> Plane:
    """1 inside the outlines, with an edge blurred by ``softness`` pixels."""
    canvas = np.zeros((shape[0] * _FINE, shape[1] * _FINE), np.uint8)
    for outline in outlines:
        cv2.fillPoly(canvas, [np.rint(outline * _FINE).astype(np.int32)], 255)
    return cv2.GaussianBlur(_shrunk(canvas, shape), (0, 0), softness).astype(np.float32)


def _shrunk(canvas: Picture, shape: tuple[int, int]) -> Plane:
    return cv2.resize(canvas, shape[::-1], interpolation=cv2.INTER_AREA).astype(np.float32) / np.float32(255)


def _grown(outline: Points, factor: float) -> Points:
    middle = outline.mean(axis=0)
    grown: Points = (outline - middle) * factor + middle
    return grown


def _at(point: Points) -> tuple[int, int]:
    x, y = np.rint(point * _FINE).astype(int).tolist()
    return x, y
