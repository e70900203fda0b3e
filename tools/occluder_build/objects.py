"""Things held or standing before a face: microphones, cups, bottles, phones, food and cutlery."""

from __future__ import annotations

import cv2
import numpy as np

from .faces import SIDE
from .hands import hand
from .layer import Bytes, Floats, Layer, Points, Scene, curve, direction, ellipse, noise

_MOUTH = (13, 14, 61, 291, 0, 17)


def microphone(scene: Scene) -> Layer:
    """A head of foam or wire on a handle, stand or thin arm, most often near the mouth."""
    layer = Layer()
    at = _near_mouth(scene, 0.22)
    angle = scene.between(0.1, np.pi - 0.1) if scene.chance(0.85) else scene.between(-np.pi, 0)
    size = scene.height * scene.between(0.04, 0.2)
    dark = tuple((np.array([30, 30, 33]) * scene.between(0.4, 2.2)).tolist())
    colour = dark if scene.chance(0.75) else scene.colour()
    arm = size * scene.between(0.12, 1.6)
    end = at + direction(angle) * scene.height * 2
    _rod(
        scene,
        layer,
        curve(np.array([at, (at + end) / 2 + scene.rng.normal(0, 0.15, 2) * scene.height, end])),
        arm,
    )
    long = scene.between(1.0, 1.9)
    outline = ellipse(at, np.array([size * long, size]), angle, scene.between(2, 3.5))
    _solid(scene, layer, outline, colour, at - np.array([0.4, 0.4]) * size, size)
    if scene.chance(0.4):
        _grille(scene, layer, outline, size)
    return layer


def headset(scene: Scene) -> Layer:
    """A thin arm along the cheek to the corner of the mouth, with a small foam."""
    layer = Layer()
    left = scene.chance(0.5)
    ear, corner = scene.points[127 if left else 356], scene.points[61 if left else 291]
    at = (
        corner
        + (ear - corner) * scene.between(0.0, 0.35)
        + np.array([0, scene.between(0, 0.12)]) * scene.height
    )
    below = (ear + at) / 2 + np.array([0, scene.between(0.0, 0.25)]) * scene.height
    colour = tuple((np.array([35, 35, 38]) * scene.between(0.3, 3)).tolist())
    width = scene.width * scene.between(0.012, 0.04)
    layer.line(curve(np.array([ear, below, at])), width, colour)
    size = scene.width * scene.between(0.02, 0.07)
    _solid(scene, layer, ellipse(at, np.array([size * 1.4, size]), scene.between(0, 3)), colour, at, size)
    return layer


def vessel(scene: Scene) -> Layer:
    """A cup, glass, can or bottle at the mouth, as it is lifted, often with the hand that holds it."""
    layer = Layer()
    angle = -np.pi / 2 + scene.rng.normal(0, 0.5)
    up, across = direction(angle), direction(angle + np.pi / 2)
    top = _near_mouth(scene, 0.1)
    wide, tall = scene.width * scene.between(0.12, 0.38), scene.height * scene.between(0.35, 1.0)
    slim = scene.between(0.6, 1.1)
    bottom = top - up * tall
    rim = across * wide
    body = np.array([top + rim, bottom + rim * slim, bottom - rim * slim, top - rim])
    lip = ellipse(top, np.array([wide, wide * scene.between(0.05, 0.35)]), angle + np.pi / 2)
    outline = cv2.convexHull(np.concatenate([body, lip]).astype(np.float32))[:, 0]
    colour = scene.colour()
    layer.polygon(outline, colour)
    _print(scene, layer)
    x = _coordinate(across, top) / wide
    layer.shade(np.clip(1.05 - scene.between(0.1, 0.6) * (x - scene.between(-0.6, 0.6)) ** 2, 0.2, 1.3))
    if scene.chance(0.5):
        inside = Layer()
        inside.polygon(lip, tuple((np.array(colour) * scene.between(0.3, 0.9)).tolist()))
        layer.paint(inside.rgb, inside.alpha)
    return _held(scene, layer, (top + bottom) / 2)


def slab(scene: Scene) -> Layer:
    """A phone, book, card or sheet of paper."""
    layer = Layer()
    at = scene.centre + scene.rng.normal(0, 0.35, 2) * scene.width
    size = scene.width * np.array([scene.between(0.15, 0.6), scene.between(0.2, 0.8)])
    power = scene.between(3, 20)
    angle = scene.rng.normal(0, 0.5)
    outline = ellipse(at, size, angle, power, 60)
    outline = outline + (outline - at) * (outline[:, :1] - at[0]) / scene.width * scene.between(-0.3, 0.3)
    layer.polygon(outline, scene.colour())
    _print(scene, layer)
    if scene.chance(0.5):
        inner = Layer()
        inner.polygon(at + (outline - at) * scene.between(0.75, 0.95), scene.colour())
        layer.paint(inner.rgb, inner.alpha)
    return _held(scene, layer, outline[int(scene.rng.integers(60))])


def food(scene: Scene) -> Layer:
    """Something bitten: a lump with crumbs, layers or a skin, or cutlery with a morsel, often in a hand."""
    layer = Layer()
    at = _near_mouth(scene, 0.1)
    if scene.chance(0.35):
        start = at + direction(scene.between(-0.3, np.pi + 0.3)) * scene.height * 1.5
        _rod(scene, layer, np.array([start, at]), scene.width * scene.between(0.015, 0.05))
        head = ellipse(at, scene.width * scene.rng.uniform(0.04, 0.1, 2), scene.between(0, 3))
        _solid(scene, layer, head, scene.colour(), at, scene.width * 0.05)
        return layer
    size = scene.width * scene.rng.uniform(0.08, 0.32, 2)
    outline = lump(scene, at + np.array([0, 0.6 * size[1]]), size, scene.between(0.0, 0.15))
    warm = np.array([205, 150, 85]) * scene.between(0.4, 1.2) + scene.rng.normal(0, 30, 3)
    tone = tuple(np.clip(warm, 0, 255).tolist()) if scene.chance(0.7) else scene.colour()
    _solid(scene, layer, outline, tone, at - size / 3, float(size.mean()))
    for _ in range(int(scene.rng.integers(0, 4))):
        slice_ = lump(scene, at + scene.rng.normal(0, 0.5, 2) * size, size * np.array([1, 0.15]), 0.1)
        part = Layer()
        part.polygon(slice_, scene.colour())
        layer.paint(part.rgb, np.minimum(part.alpha, layer.alpha))
    layer.shade(noise(scene, scene.between(2, 8), scene.between(0.02, 0.2)))
    return _held(scene, layer, at + np.array([0, size[1]]))


def lump(scene: Scene, at: Points, size: Points, rough: float) -> Points:
    """A closed irregular outline (48, 2) about ``at``."""
    turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    bumps = sum(
        scene.rng.normal(0, rough) / k**0.5 * np.cos(k * turn + scene.between(0, 6)) for k in range(2, 9)
    )
    return np.asarray(
        at + np.column_stack([np.cos(turn), np.sin(turn)]) * (1 + np.asarray(bumps))[:, None] * size
    )


def _near_mouth(scene: Scene, spread: float) -> Points:
    mouth = scene.points[list(_MOUTH)].mean(axis=0)
    return np.asarray(mouth + scene.rng.normal(0, spread, 2) * scene.width)


def _rod(scene: Scene, layer: Layer, line: Points, width: float) -> None:
    """A handle or stand, lit along its middle."""
    colour = np.array(scene.colour()) * scene.between(0.4, 1)
    layer.line(line, width, tuple((colour * 0.6).tolist()))
    for share in (0.7, 0.4, 0.2):
        light = np.clip(colour * (1.3 - share * 0.6), 0, 255)
        layer.line(line - np.array([width, width]) * 0.08, max(1, width * share), tuple(light.tolist()))


def _solid(  # noqa: PLR0917 - body and light
    scene: Scene, layer: Layer, outline: Points, colour: tuple[float, ...], light: Points, size: float
) -> None:
    """A round body with light on it."""
    part = Layer()
    r, g, b = colour
    part.polygon(outline, (r, g, b))
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    away = np.hypot(x - light[0], y - light[1]) / max(size, 1)
    glow = np.exp(-(away**2) / scene.between(0.3, 2)).astype(np.float32)
    lit = part.rgb * (1 - scene.between(0, 0.5) * np.clip(away / 2, 0, 1)[..., None])
    lit = lit + glow[..., None] * scene.between(0, 90)
    lit = lit * noise(scene, scene.between(1.5, 4), scene.between(0, 0.15))[..., None]
    layer.paint(np.clip(lit, 0, 255).astype(np.float32), part.alpha)


def _grille(scene: Scene, layer: Layer, outline: Points, size: float) -> None:
    step = max(2.0, size * scene.between(0.08, 0.25))
    mask: Bytes = np.zeros((SIDE, SIDE), np.uint8)
    cv2.fillPoly(mask, [np.rint(outline).astype(np.int32)], 255)
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    wires = 1 + scene.between(0.1, 0.5) * np.cos((x + y) * np.pi / step) * np.cos((x - y) * np.pi / step)
    layer.shade(np.where(mask > 0, wires, 1).astype(np.float32))


def _print(scene: Scene, layer: Layer) -> None:
    """Stripes, letters or a picture on what is drawn."""
    kind = scene.rng.random()
    if kind < 0.3:
        share = scene.between(0.3, 1)
        layer.rgb = cv2.addWeighted(layer.rgb, 1 - share, scene.texture, share, 0).astype(np.uint8)
    elif kind < 0.5:
        for _ in range(int(scene.rng.integers(1, 6))):
            ends = scene.rng.uniform(0, SIDE, (2, 2))
            stripe = [np.rint(ends).astype(int)[i].tolist() for i in (0, 1)]
            cv2.line(
                layer.rgb, stripe[0], stripe[1], scene.colour(), int(scene.rng.integers(1, 14)), cv2.LINE_AA
            )
    elif kind < 0.75:
        for _ in range(int(scene.rng.integers(1, 5))):
            at = np.rint(scene.rng.uniform(0, SIDE, 2)).astype(int).tolist()
            text = "".join(chr(65 + int(i)) for i in scene.rng.integers(0, 26, 5))
            cv2.putText(
                layer.rgb, text, at, 2, scene.between(0.3, 1.5), scene.colour(), 1 + int(scene.chance(0.5))
            )


def _held(scene: Scene, layer: Layer, at: Points) -> Layer:
    """The thing with a hand over it or behind it, or alone."""
    if scene.chance(0.45):
        return layer
    fingers = hand(scene)
    rows, columns = np.nonzero(fingers.alpha > 128)
    if len(rows) < 20:
        return layer
    middle = np.array([np.median(columns), np.quantile(rows, 0.25)])
    move = np.array([[1, 0, at[0] - middle[0]], [0, 1, at[1] - middle[1]]], np.float32)
    moved = [cv2.warpAffine(plane, move, (SIDE, SIDE)) for plane in (fingers.rgb, fingers.alpha)]
    below, above = Layer(), Layer()
    above.rgb, above.alpha = moved[0].astype(np.uint8), moved[1].astype(np.uint8)
    below, above = (layer, above) if scene.chance(0.6) else (above, layer)
    below.paint(above.rgb, above.alpha)
    return below


def _coordinate(axis: Points, origin: Points) -> Floats:
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    return np.asarray((x - origin[0]) * axis[0] + (y - origin[1]) * axis[1], np.float32)
