"""A thing in front of a face as colour and opacity, and the pencils it is drawn with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from .faces import SIDE

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Colour = tuple[float, float, float]
Points = npt.NDArray[Any]

_SHIFT = 4


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What a generator may look at: chance, the mesh ``points`` (468, 2) on the canvas of ``SIDE``²,
    ``width`` and ``height`` of the face, its ``skin`` colour, and ``texture``, any picture (SIDE, SIDE, 3)
    to cut from."""

    rng: np.random.Generator
    points: npt.NDArray[np.float32]
    width: float
    height: float
    skin: Floats
    texture: Bytes

    @property
    def centre(self) -> Points:
        """Middle of the mesh."""
        return np.asarray((self.points.min(axis=0) + self.points.max(axis=0)) / 2)

    def chance(self, share: float) -> bool:
        """True in ``share`` of all cases."""
        return bool(self.rng.random() < share)

    def between(self, low: float, high: float) -> float:
        """A number drawn evenly."""
        return float(self.rng.uniform(low, high))

    def colour(self) -> Colour:
        """The colour of a thing: often dark, light or grey, sometimes bright."""
        kind = self.rng.random()
        if kind < 0.3:
            grey = self.between(8, 70)
        elif kind < 0.52:
            grey = self.between(180, 255)
        elif kind < 0.62:
            grey = self.between(60, 180)
        else:
            return _colour(self.rng.uniform(10, 245, 3))
        tint = self.rng.normal(0, 6, 3)
        return _colour(np.clip(grey + tint, 0, 255))


class Layer:
    """``rgb`` (SIDE, SIDE, 3) and ``alpha`` (SIDE, SIDE), uint8; empty at first."""

    def __init__(self) -> None:
        self.rgb: Bytes = np.zeros((SIDE, SIDE, 3), np.uint8)
        self.alpha: Bytes = np.zeros((SIDE, SIDE), np.uint8)

    def line(self, points: Points, width: float, colour: Colour, closed: bool = False) -> None:
        """A stroke through points (n, 2)."""
        corners = [_fixed(points)]
        cv2.polylines(self.alpha, corners, closed, 255, max(1, round(width)), cv2.LINE_AA, _SHIFT)
        cv2.polylines(self.rgb, corners, closed, colour, max(1, round(width)) + 2, cv2.LINE_8, _SHIFT)

    def polygon(self, points: Points, colour: Colour) -> None:
        """A filled outline (n, 2)."""
        cv2.fillPoly(self.alpha, [_fixed(points)], 255, cv2.LINE_AA, _SHIFT)
        corners = [_fixed(points)]
        cv2.fillPoly(self.rgb, corners, colour, cv2.LINE_8, _SHIFT)
        cv2.polylines(self.rgb, corners, True, colour, 3, cv2.LINE_8, _SHIFT)

    def paint(self, colours: Floats | Bytes, alpha: Bytes) -> None:
        """Put colours (SIDE, SIDE, 3) over what is there, where ``alpha`` is not 0."""
        share = alpha[..., None].astype(np.float32) / 255
        self.rgb = np.clip(self.rgb + (colours - self.rgb.astype(np.float32)) * share, 0, 255).astype(
            np.uint8
        )
        # Where nothing was, the colour is the thing's own up to the rim of its softest edge.
        fresh = (self.alpha == 0) & (alpha > 0)
        self.rgb[fresh] = np.clip(colours, 0, 255).astype(np.uint8)[fresh]
        self.alpha = np.maximum(self.alpha, alpha)

    def shade(self, factor: Floats) -> None:
        """Multiply the colours by (SIDE, SIDE)."""
        self.rgb = np.clip(self.rgb * factor[..., None], 0, 255).astype(np.uint8)


def noise(scene: Scene, grain: float, strength: float) -> Floats:
    """(SIDE, SIDE) about 1: bumps of ``grain`` pixels that change the light by ``strength``."""
    return noise_plane(scene.rng, SIDE, grain, strength)


def noise_plane(rng: np.random.Generator, side: int, grain: float, strength: float) -> Floats:
    """(side, side) about 1, as ``noise`` makes it."""
    small = max(2, round(side / grain))
    values = rng.normal(0, strength, (small, small)).astype(np.float32)
    return np.asarray(1 + cv2.resize(values, (side, side), interpolation=cv2.INTER_CUBIC), np.float32)


def to_plane(values: Floats) -> Bytes:
    """Floats in 0..255 as bytes."""
    return np.asarray(np.clip(values + 0.5, 0, 255), np.uint8)


def ellipse(centre: Points, radii: Points, angle: float, power: float = 2.0, count: int = 40) -> Points:
    """Outline (count, 2) of a superellipse: ``power`` 2 is round, 5 a box with round corners."""
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    cos, sin = np.cos(turn), np.sin(turn)
    unit = np.column_stack(
        [np.sign(cos) * np.abs(cos) ** (2 / power), np.sign(sin) * np.abs(sin) ** (2 / power)]
    )
    return np.asarray(unit * radii) @ rotation(angle) + centre


def rotation(angle: float) -> Points:
    """Turns rows (x, y) by ``angle`` radians, x towards y."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, sin], [-sin, cos]])


def curve(knots: Points, count: int = 24) -> Points:
    """Points (count, 2) on the Bézier curve of 3 or 4 knots."""
    along = np.linspace(0, 1, count)[:, None]
    level = [np.repeat(knot[None], count, axis=0) for knot in np.asarray(knots, np.float64)]
    while len(level) > 1:
        level = [a + (b - a) * along for a, b in pairwise(level)]
    return level[0]


def direction(angle: float) -> Points:
    """The unit vector (2,) at ``angle`` radians, x towards y."""
    return np.array([np.cos(angle), np.sin(angle)])


def _fixed(points: Points) -> npt.NDArray[np.int32]:
    return np.asarray(np.rint(np.clip(points, -2000, 2000) * (1 << _SHIFT)), np.int32)


def _colour(values: Points) -> Colour:
    r, g, b = values.tolist()
    return r, g, b
