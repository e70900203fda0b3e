"""Cloth and cut-outs before a face: masks, scarves, straps, and pieces of any picture."""

from __future__ import annotations

import cv2
import numpy as np

from .faces import SIDE
from .layer import Layer, Scene, curve, ellipse, noise
from .objects import lump

_JAW = (234, 93, 132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361, 323, 454)
_MASKS = ((150, 190, 215), (235, 238, 240), (30, 30, 32), (180, 200, 190), (60, 80, 120))


def mask(scene: Scene) -> Layer:
    """A mask over nose and mouth, or only over the mouth, with pleats and straps."""
    layer, points = Layer(), scene.points
    bridge = points[6] + (points[4] - points[6]) * scene.between(0.0, 1.15)
    rise = scene.between(0.25, 0.75)
    jaw = points[list(_JAW)]
    jaw = points[0] + (jaw - points[0]) * scene.between(0.8, 1.12)
    sides = [jaw[k] * rise + jaw[2 * (1 if k == 0 else -1)] * (1 - rise) for k in (0, -1)]
    top = curve(np.array([sides[1], (sides[1] + bridge) / 2 + (bridge - points[0]) * 0.25, bridge]), 10)
    back = curve(np.array([bridge, (sides[0] + bridge) / 2 + (bridge - points[0]) * 0.25, sides[0]]), 10)
    outline = np.concatenate([jaw[1:-1] if rise > 0.5 else jaw[2:-2], top, back])
    choice = _MASKS[int(scene.rng.integers(len(_MASKS)))]
    colour = choice if scene.chance(0.7) else scene.colour()
    for k, ear in ((0, 127), (-1, 356)):
        layer.line(np.array([sides[k], points[ear] + (points[ear] - scene.centre) * 0.2]), 2, colour)
    layer.polygon(outline, colour)
    _weave(scene, layer)
    y = np.linspace(-1, 1, SIDE, dtype=np.float32)[:, None]
    pleats = 1 + scene.between(0, 0.12) * np.sign(np.sin(y * scene.between(8, 30)))
    x = (np.arange(SIDE, dtype=np.float32)[None] - points[1, 0]) / scene.width
    layer.shade(
        (pleats * (1.1 - scene.between(0.2, 1.2) * (x - scene.between(-0.2, 0.2)) ** 2)).astype(np.float32)
    )
    return layer


def scarf(scene: Scene) -> Layer:
    """Cloth from below up to the mouth or nose, or from above down to the brows."""
    layer = Layer()
    below = scene.chance(0.7)
    edge = scene.points[
        (2, 0, 17, 18, 200)[int(scene.rng.integers(5))] if below else (9, 151, 8)[int(scene.rng.integers(3))]
    ]
    level = scene.points[454] - scene.points[234]
    away = np.array([-level[1], level[0]]) / scene.width
    reach = away * scene.height * (1.6 if below else -1.6)
    sag = away * scene.height * scene.between(-0.12, 0.2)
    line = curve(np.array([edge - level * 0.8, edge + sag, edge + level * 0.8]), 20)
    line = line + scene.rng.normal(0, 0.008, line.shape) * scene.width
    layer.polygon(np.concatenate([line, (line + reach)[::-1]]), scene.colour())
    _weave(scene, layer)
    layer.shade(noise(scene, scene.between(10, 40), scene.between(0.05, 0.25)))
    return layer


def strap(scene: Scene) -> Layer:
    """Thin things: cables, straps, straws, twigs, pens."""
    layer = Layer()
    for _ in range(int(scene.rng.integers(1, 4))):
        knots = scene.centre + scene.rng.normal(0, 0.5, (4, 2)) * scene.width
        knots[0], knots[3] = knots[0] + (knots[0] - scene.centre), knots[3] + (knots[3] - scene.centre)
        line = curve(knots) if scene.chance(0.6) else np.linspace(knots[0], knots[3], 8)
        width = scene.width * scene.between(0.01, 0.1)
        colour = np.array(scene.colour())
        layer.line(line, width, tuple((colour * 0.7).tolist()))
        layer.line(line - width * 0.1, max(1, width * 0.5), tuple(colour.tolist()))
    return layer


def piece(scene: Scene) -> Layer:
    """A piece of any picture, of any shape, or a plain one."""
    layer = Layer()
    at = scene.centre + scene.rng.normal(0, 0.35, 2) * scene.width
    size = scene.width * scene.rng.uniform(0.05, 0.55, 2)
    kind = scene.rng.random()
    if kind < 0.35:
        outline = lump(scene, at, size, scene.between(0.0, 0.25))
    elif kind < 0.7:
        corners = at + scene.rng.normal(0, 0.7, (int(scene.rng.integers(3, 8)), 2)) * size
        outline = cv2.convexHull(corners.astype(np.float32))[:, 0]
    else:
        outline = ellipse(at, size, scene.between(0, 3), scene.between(1.2, 12))
    layer.polygon(outline, scene.colour())
    if scene.chance(0.45):
        turned = np.rot90(scene.texture, int(scene.rng.integers(4)))
        light = scene.between(0.4, 1.3)
        layer.paint(np.clip(turned.astype(np.float32) * light, 0, 255), layer.alpha)
    else:
        layer.shade(noise(scene, scene.between(2, 60), scene.between(0, 0.25)))
    return layer


def white(scene: Scene) -> Layer:
    """White or pale plain things: paper, a box, a tissue, a cup, with hardly any shade on them."""
    layer = Layer()
    at = scene.points[int(scene.rng.integers(468))] + scene.rng.normal(0, 0.1, 2) * scene.width
    size = scene.width * scene.rng.uniform(0.08, 0.45, 2)
    if scene.chance(0.35):
        outline = lump(scene, at, size, scene.between(0.0, 0.2))
    else:
        turned = scene.rng.normal(0, 0.4) if scene.chance(0.7) else scene.between(0, 3)
        outline = ellipse(at, size, turned, scene.between(3, 30) if scene.chance(0.8) else 2.0, 60)
    level = scene.between(190, 256)
    r, g, b = np.clip(level + scene.rng.normal(0, 5, 3), 0, 255).tolist()
    layer.polygon(outline, (r, g, b))
    if scene.chance(0.6):
        layer.shade(noise(scene, scene.between(12, 60), scene.between(0, 0.08)))
    if scene.chance(0.4):
        x = (np.arange(SIDE, dtype=np.float32)[None] - at[0]) / size[0]
        layer.shade(
            np.broadcast_to(1.02 - scene.between(0, 0.35) * (x - scene.between(-1, 1)) ** 2, (SIDE, SIDE))
        )
    return layer


def _weave(scene: Scene, layer: Layer) -> None:
    kind = scene.rng.random()
    if kind < 0.3:
        share = scene.between(0.2, 1)
        layer.rgb = cv2.addWeighted(layer.rgb, 1 - share, scene.texture, share, 0).astype(np.uint8)
    elif kind < 0.6:
        y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
        step = scene.between(2, 12)
        waves = np.cos(x * np.pi / step) * (np.cos(y * np.pi / step) if scene.chance(0.5) else 1)
        layer.shade((1 + scene.between(0.03, 0.3) * waves).astype(np.float32))
