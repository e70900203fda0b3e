"""Hair before a face: strands and fringes of many strokes."""

from __future__ import annotations

import cv2
import numpy as np

from .layer import Layer, Points, Scene, curve

_COLOURS = (
    *((22, 18, 17), (35, 26, 22), (58, 40, 28), (78, 52, 34), (104, 72, 46), (140, 100, 62)),
    *((186, 148, 98), (215, 186, 140), (120, 50, 26), (150, 146, 142), (210, 208, 204)),
)


def strand(scene: Scene) -> Layer:
    """One to four strands that hang from the hairline over the face."""
    layer, base = Layer(), _colour(scene)
    for _ in range(int(scene.rng.integers(1, 5))):
        width = scene.width * scene.between(0.008, 0.12) ** scene.between(1, 1.3)
        _lock(scene, layer, base, _hanging(scene), width)
    return layer


def wisp(scene: Scene) -> Layer:
    """One to three single strands, plain and sharp, of any colour, also nearly that of the skin."""
    layer = Layer()
    for _ in range(int(scene.rng.integers(1, 4))):
        base = (
            np.asarray(scene.skin, np.float64) * scene.between(0.35, 1.25)
            if scene.chance(0.3)
            else _colour(scene)
        )
        knots = _hanging(scene) if scene.chance(0.6) else _across(scene)
        middle, width = curve(knots, 20), scene.width * scene.between(0.016, 0.085)
        along = np.gradient(middle, axis=0)
        side = np.column_stack([-along[:, 1], along[:, 0]])
        side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-6)
        taper = np.linspace(1, scene.between(0.3, 1.0), 20)[:, None] * width / 2
        layer.polygon(np.concatenate([middle + side * taper, (middle - side * taper)[::-1]]), _tone(base, 1))
        for _ in range(int(scene.rng.integers(0, 4))):
            line = middle + side * taper * scene.between(-0.6, 0.6)
            layer.line(line, 1, _tone(base, scene.between(0.7, 1.4)))
    return layer


def fringe(scene: Scene) -> Layer:
    """Hair over the forehead, down to the brows or the eyes, from one side or both."""
    layer, base = Layer(), _colour(scene)
    points, rng = scene.points, scene.rng
    left, right = points[127], points[356]
    top = points[10] + (points[10] - points[9]) * scene.between(0.2, 0.8)
    end = scene.between(0.35, 1.1)
    parting = scene.between(-0.4, 1.4)
    for place in np.linspace(0, 1, int(rng.integers(14, 40))):
        if scene.chance(0.12):
            continue
        root = left + (right - left) * place
        root = root + (top - (left + right) / 2) * scene.between(0.8, 1.1)
        brow = left + (right - left) * (place + (place - parting) * scene.between(0.0, 0.5))
        tip = brow + (points[9] - points[168]) * (1 - end) * 2 + rng.normal(0, 0.02, 2) * scene.width
        middle = (root + tip) / 2 + rng.normal(0, 0.04, 2) * scene.width
        _lock(scene, layer, base, np.array([root, middle, tip]), scene.width * scene.between(0.03, 0.09))
    return layer


def curtain(scene: Scene) -> Layer:
    """Long hair that covers one side of the face from the top of the head down."""
    layer, base = Layer(), _colour(scene)
    points = scene.points
    side = (127, 93, 58) if scene.chance(0.5) else (356, 323, 288)
    inner = scene.between(0.05, 0.35)
    for _ in range(int(scene.rng.integers(10, 30))):
        share = scene.between(-0.25, inner)
        knots = [points[10] * (1 - 0.6) + points[side[0]] * 0.6, *(points[i] for i in side[1:])]
        knots = [knot + (scene.centre - knot) * share for knot in knots]
        knots[0] = knots[0] + (points[10] - points[9]) * scene.between(0.3, 0.9)
        knots[-1] = knots[-1] + np.array([0, scene.between(0, 0.5) * scene.height])
        knots = [knot + scene.rng.normal(0, 0.03, 2) * scene.width for knot in knots]
        _lock(scene, layer, base, np.array(knots), scene.width * scene.between(0.03, 0.1))
    return layer


def _hanging(scene: Scene) -> Points:
    """Knots (4, 2) from somewhere on the hairline down or across the face."""
    points, rng = scene.points, scene.rng
    hairline = (338, 297, 332, 284, 251, 389, 109, 67, 103, 54, 21, 162, 10, 356, 127)
    root = points[hairline[int(rng.integers(len(hairline)))]]
    root = root + (root - scene.centre) * scene.between(0.0, 0.35)
    way = np.array([scene.between(-0.35, 0.35) * scene.width, scene.between(0.2, 1.1) * scene.height])
    bow = rng.normal(0, 0.1, (2, 2)) * scene.width
    return np.array([root, root + way * 0.33 + bow[0], root + way * 0.66 + bow[1], root + way])


def _across(scene: Scene) -> Points:
    """Knots (4, 2) of a strand that lies anywhere on the face, any way."""
    at = scene.points[int(scene.rng.integers(468))]
    angle, long = scene.between(0, np.pi), scene.height * scene.between(0.15, 0.5)
    way = np.array([np.cos(angle), np.sin(angle)]) * long
    bow = scene.rng.normal(0, 0.08, (2, 2)) * scene.width
    return np.array([at - way, at - way * 0.3 + bow[0], at + way * 0.3 + bow[1], at + way])


def _lock(scene: Scene, layer: Layer, base: Points, knots: Points, width: float) -> None:
    """A bundle of hairs along knots; close together it is solid, far apart single hairs."""
    middle = curve(knots, 20)
    along = np.gradient(middle, axis=0)
    across = np.column_stack([-along[:, 1], along[:, 0]])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-6)
    taper = np.sqrt(np.clip(np.linspace(scene.between(0.8, 1), scene.between(0.0, 0.9), 20), 0, 1))[:, None]
    contrast = scene.between(0.02, 0.3)
    if scene.chance(0.75):
        sides = [middle + across * taper * width / 2, (middle - across * taper * width / 2)[::-1]]
        layer.polygon(np.concatenate(sides), _tone(base, 1.0))
    for _ in range(int(scene.rng.integers(2, 6)) + round(width * 0.9)):
        offset = scene.rng.normal(0, 0.3) * width
        wave = np.sin(np.linspace(0, scene.between(1, 9), 20) + scene.between(0, 6))[:, None]
        line = middle + across * (offset * taper + wave * scene.between(0, 0.05) * scene.width * 0.3)
        layer.line(line, scene.between(1, 1.8), _tone(base, 1 + scene.rng.normal(0, contrast)))
    if scene.chance(0.3):
        layer.alpha = np.asarray(cv2.GaussianBlur(layer.alpha, (0, 0), scene.between(0.3, 0.9)), np.uint8)


def _colour(scene: Scene) -> Points:
    if scene.chance(0.06):
        return np.array(scene.colour())
    base = np.array(_COLOURS[int(scene.rng.integers(len(_COLOURS)))], np.float64)
    return np.clip(base * scene.between(0.6, 1.25) + scene.rng.normal(0, 4, 3), 4, 250)


def _tone(base: Points, light: float) -> tuple[float, float, float]:
    r, g, b = np.clip(base * light, 0, 255).tolist()
    return r, g, b
