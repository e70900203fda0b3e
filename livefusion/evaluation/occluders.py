"""Things in front of a face, drawn into a picture at places that its landmarks give, with known alpha."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import Landmarks
from livefusion.core.geometry import Box
from livefusion.evaluation.picture import Picture, Plane
from livefusion.media.sources.performer_layer import to_yuv
from livefusion.media.sources.performer_occluder import PassingOccluder
from livefusion.media.sources.performer_options import Occluder
from livefusion.ops.registry import BLEND_YUVA
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE

Alpha = npt.NDArray[np.uint8]

_SUBPIXEL = 4
_FPS = 30
_BLACK, _HAIR, _FOAM, _FOAM_LIGHT = (24, 22, 24), (58, 40, 28), (38, 38, 42), (84, 84, 92)


@dataclass(frozen=True, slots=True, eq=False)
class Covering:
    """A picture with something before the face, and its (h, w) alpha, 255 where it hides what is behind."""

    picture: Picture
    alpha: Alpha


Draw = Callable[["Canvas", Landmarks, int], None]


class Canvas:
    """Colour and alpha of a thing as it is drawn, at the size of the picture."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.rgb = np.zeros((*shape, 3), np.uint8)
        self.alpha = np.zeros(shape, np.uint8)

    def line(
        self, points: npt.NDArray[Any], width: float, colour: tuple[int, int, int], closed: bool = False
    ) -> None:
        """A stroke through points (n, 2)."""
        corners = [np.rint(points * (1 << _SUBPIXEL)).astype(np.int32)]
        wide = max(1, round(width))
        cv2.polylines(self.alpha, corners, closed, 255, wide, cv2.LINE_AA, _SUBPIXEL)
        cv2.polylines(self.rgb, corners, closed, colour, wide + 4, cv2.LINE_8, _SUBPIXEL)

    def ball(self, centre: npt.NDArray[Any], radius: float, colour: tuple[int, int, int]) -> None:
        """A disc."""
        at = tuple(np.rint(centre * (1 << _SUBPIXEL)).astype(int).tolist())
        size = round(radius * (1 << _SUBPIXEL))
        cv2.circle(self.alpha, at, size, 255, -1, cv2.LINE_AA, _SUBPIXEL)
        cv2.circle(self.rgb, at, size + (2 << _SUBPIXEL), colour, -1, cv2.LINE_8, _SUBPIXEL)

    def over(self, picture: Picture) -> Covering:
        """The picture with the thing before it."""
        patch = np.dstack([to_yuv(self.rgb, picture.color), cv2.GaussianBlur(self.alpha, (0, 0), 0.6)])
        return _blend(picture, np.ascontiguousarray(patch, np.uint8), 0, 0)


def cover(kind: str, picture: Picture, landmarks: Landmarks, frame: int) -> Covering:
    """The picture with a thing of one of the ``KINDS`` before the face, as it is in picture ``frame``."""
    if kind == "hand":
        return _hand(picture, landmarks, frame)
    canvas = Canvas((picture.size.height, picture.size.width))
    _DRAW[kind](canvas, landmarks[:, :2].astype(np.float64), frame)
    return canvas.over(picture)


def _hand(picture: Picture, landmarks: Landmarks, frame: int) -> Covering:
    """The performer's passing hand, as it comes up to the nose."""
    box = Box.around(landmarks)
    hand = _passing_hand(round(box.height), picture.color)
    x, y = hand.at(2.2 + frame / _FPS, (box.centre[0] + 0.15 * box.width, box.centre[1]))
    return _blend(picture, hand.pixels, x, y)


def _passing_hand(height: int, color: ColorInfo) -> PassingOccluder:
    return PassingOccluder(Occluder.HAND, height, color, None)


def _microphone(canvas: Canvas, points: npt.NDArray[Any], frame: int) -> None:
    """A foam ball before the corner of the mouth, on an arm that comes from below."""
    height = float(np.ptp(points[:, 1]))
    head = points[291] + height * np.array([0.02, 0.10])
    canvas.line(np.array([head, head + height * np.array([0.45, 0.95])]), 0.05 * height, _BLACK)
    canvas.ball(head, 0.13 * height, _FOAM)
    cv2.circle(canvas.rgb, _whole(head - 0.04 * height), max(1, round(0.05 * height)), _FOAM_LIGHT, -1)
    canvas.rgb[...] = cv2.GaussianBlur(canvas.rgb, (0, 0), max(0.6, 0.015 * height))


def _hair(canvas: Canvas, points: npt.NDArray[Any], frame: int) -> None:
    """A strand from the hairline past the eye to the cheek, swaying a little."""
    width = float(np.ptp(points[:, 0]))
    sway = np.array([0.015 * width * np.sin(frame / 5), 0])
    knots = np.array([points[338], points[334] + sway, points[263] + 2 * sway, points[352] + 3 * sway])
    along = np.linspace(0, 1, 24)[:, None]
    blend = [(1 - along) ** 3, 3 * along * (1 - along) ** 2, 3 * along**2 * (1 - along), along**3]
    curve = sum(share * knot for share, knot in zip(blend, knots, strict=True))
    canvas.line(np.asarray(curve), 0.045 * width, _HAIR)


def _glasses(canvas: Canvas, points: npt.NDArray[Any], frame: int) -> None:
    """Rims round both eyes, a bridge, and the temples to the sides of the head."""
    thick = 0.05 * float(np.hypot(*(points[33] - points[263])))
    rims = []
    for ring in (RIGHT_EYE, LEFT_EYE):
        eye = points[list(ring)]
        centre, radius = eye.mean(axis=0), 0.85 * float(np.ptp(eye[:, 0]))
        turn = np.linspace(0, 2 * np.pi, 40, endpoint=False)
        lens = np.column_stack([np.cos(turn), 0.8 * np.sin(turn)]) * radius
        rims.append((centre + np.array([0, 0.1 * radius]), radius))
        canvas.line(rims[-1][0] + lens, thick, _BLACK, closed=True)
    (left, left_radius), (right, right_radius) = rims
    along = (right - left) / max(float(np.hypot(*(right - left))), 1e-6)
    canvas.line(np.array([left + along * left_radius, right - along * right_radius]), thick, _BLACK)
    canvas.line(np.array([left - along * left_radius, points[127]]), thick, _BLACK)
    canvas.line(np.array([right + along * right_radius, points[356]]), thick, _BLACK)


_DRAW = {"microphone": _microphone, "hair": _hair, "glasses": _glasses}
KINDS = ("hand", *_DRAW)
"""What can be drawn."""


def _whole(point: npt.NDArray[Any]) -> tuple[int, int]:
    return round(float(point[0])), round(float(point[1]))


def _blend(picture: Picture, patch: Plane, x: int, y: int) -> Covering:
    luma, chroma = picture.luma.copy(), picture.chroma.copy()
    BLEND_YUVA.body("cpu")(luma=luma, chroma=chroma, patch=patch, x=x, y=y)
    alpha: Alpha = np.zeros(luma.shape, np.uint8)
    left, top = max(0, x), max(0, y)
    right, bottom = min(alpha.shape[1], x + patch.shape[1]), min(alpha.shape[0], y + patch.shape[0])
    if left < right and top < bottom:
        alpha[top:bottom, left:right] = patch[top - y : bottom - y, left - x : right - x, 3]
    return Covering(Picture(luma, chroma, picture.color), alpha)
