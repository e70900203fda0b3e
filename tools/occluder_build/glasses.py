"""Glasses: rims of every thickness, clear, tinted and dark lenses with what they mirror."""

from __future__ import annotations

import cv2
import numpy as np

from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE

from .faces import SIDE
from .layer import Colour, Layer, Points, Scene, curve, ellipse

_METALS = ((190, 160, 96), (176, 178, 182), (92, 92, 96), (205, 150, 130), (28, 28, 30))


def glasses(scene: Scene) -> Layer:
    """A pair of glasses where the eyes are."""
    layer = Layer()
    eyes = [scene.points[list(ring)] for ring in (RIGHT_EYE, LEFT_EYE)]
    level = scene.points[263] - scene.points[33]
    apart = float(np.hypot(*level))
    angle = float(np.arctan2(level[1], level[0]))
    metal = scene.chance(0.35)
    thick = apart * (scene.between(0.008, 0.022) if metal else scene.between(0.02, 0.09))
    colour = _METALS[int(scene.rng.integers(len(_METALS)))] if metal else scene.colour()
    shape = (
        scene.between(0.65, 1.15),
        scene.between(0.5, 1.0),
        scene.between(2, 5) if scene.chance(0.7) else 2.0,
        scene.between(-0.12, 0.3),
    )
    rims = [_rim(eye, shape, angle, side) for eye, side in zip(eyes, (1, -1), strict=True)]
    _lenses(scene, layer, [rim for rim, _ in rims])
    half = scene.chance(0.12)
    for rim, _ in rims:
        if half:
            layer.line(rim[len(rim) // 2 :], thick, colour)
        elif not scene.chance(0.04):
            layer.line(rim, thick, colour, closed=True)
            if thick > 3:
                layer.line(rim[24:34], max(1, thick * 0.3), _lighter(colour, scene))
    _frame(scene, layer, rims, thick, colour, angle)
    return layer


def _rim(eye: Points, shape: tuple[float, ...], angle: float, side: int) -> tuple[Points, float]:
    wide, tall, power, drop = shape
    across = float(np.ptp(eye[:, 0]))
    # An eye that is turned away is narrow, but its lens stays as tall.
    radius = 0.95 * wide * max(across, 6.0)
    tilt = 0.06 * side
    centre = eye.mean(axis=0) + np.array([0, drop * radius * 0.5])
    return ellipse(centre, np.array([radius, tall * max(radius, 6.0)]), angle + tilt, power), radius


def _frame(  # noqa: PLR0917 - what a frame is made of
    scene: Scene, layer: Layer, rims: list[tuple[Points, float]], thick: float, colour: Colour, angle: float
) -> None:
    """Bridge and temples."""
    (left, _), (right, _) = rims
    rise = scene.between(-0.35, 0.15) * float(np.ptp(left[:, 1]))
    inner = [left[np.argmax(left[:, 0])], right[np.argmin(right[:, 0])]]
    outer = [left[np.argmin(left[:, 0])], right[np.argmax(right[:, 0])]]
    lift = np.array([np.sin(angle), -np.cos(angle)]) * abs(rise)
    bridge = curve(np.array([inner[0] + lift * 0.3, sum(inner) / 2 + lift, inner[1] + lift * 0.3]))
    layer.line(bridge, thick * scene.between(0.8, 1.2), colour)
    if scene.chance(0.15):
        layer.line(bridge + lift * 1.2, max(1, thick * 0.6), colour)
    for start, ear in zip(outer, (127, 356), strict=True):
        end = scene.points[ear] + (scene.points[ear] - scene.centre) * 0.25
        layer.line(np.array([start + lift * 0.4, end]), thick * scene.between(0.7, 1.3), colour)


def _lenses(scene: Scene, layer: Layer, rims: list[Points]) -> None:
    kind = scene.rng.random()
    mask = np.zeros((SIDE, SIDE), np.uint8)
    for rim in rims:
        cv2.fillPoly(mask, [np.rint(rim * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    if kind < 0.28:
        _dark(scene, layer, mask)
    elif kind < 0.55:
        _glare(scene, layer, mask)


def _dark(scene: Scene, layer: Layer, mask: Points) -> None:
    """Sunglasses: dark or mirroring."""
    opaque = scene.between(0.8, 1.0)
    y = np.linspace(-1, 1, SIDE, dtype=np.float32)[:, None, None]
    base = np.array(scene.colour()) * (0.35 if scene.chance(0.8) else 1.0)
    colours = np.broadcast_to(base * (1 - scene.between(-0.8, 0.8) * y), (SIDE, SIDE, 3)).astype(np.float32)
    if scene.chance(0.5):
        mirrored = cv2.GaussianBlur(scene.texture, (0, 0), scene.between(0.5, 4)).astype(np.float32)
        share = scene.between(0.1, 0.7)
        colours = colours * (1 - share) + mirrored * share
    layer.paint(np.clip(colours, 0, 255), (mask * opaque).astype(np.uint8))


def _glare(scene: Scene, layer: Layer, mask: Points) -> None:
    """Windows that a clear lens mirrors."""
    spots = np.zeros((SIDE, SIDE), np.uint8)
    for _ in range(int(scene.rng.integers(1, 4))):
        at = scene.points[33 if scene.chance(0.5) else 263] + scene.rng.normal(0, 0.12, 2) * scene.width
        corners = ellipse(at, scene.rng.uniform(0.02, 0.14, 2) * scene.width, scene.between(0, 3), 4)
        cv2.fillPoly(spots, [np.rint(corners * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    alpha = np.minimum(spots, mask) * scene.between(0.5, 1.0)
    white = np.full((SIDE, SIDE, 3), (235, 240, 255), np.float32) * scene.between(0.7, 1.05)
    layer.paint(np.clip(white, 0, 255), alpha.astype(np.uint8))


def _lighter(colour: Colour, scene: Scene) -> Colour:
    r, g, b = np.clip(np.array(colour) + scene.between(15, 90), 0, 255).tolist()
    return r, g, b
