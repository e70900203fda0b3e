"""What belongs to a face and covers nothing: beards, make-up, shadows, shine, marks and lines."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import OUTER_LIPS

from .faces import SIDE, oval_mask
from .layer import Bytes, Floats, Points, Scene, curve, ellipse
from .objects import lump

_BEARD = (
    234,
    93,
    132,
    58,
    172,
    136,
    150,
    149,
    176,
    148,
    152,
    377,
    400,
    378,
    379,
    365,
    397,
    288,
    361,
    323,
    454,
)
_UPPER = (426, 327, 2, 98, 206)
_LIDS = (
    (33, 246, 161, 160, 159, 158, 157, 173, 133, 56, 28, 27, 29, 30),
    (263, 466, 388, 387, 386, 385, 384, 398, 362, 286, 258, 257, 259, 260),
)


def dress(scene: Scene, image: Bytes) -> Bytes:
    """The face with some of what nature, a barber or a lamp may do to it; the (SIDE, SIDE, 3) picture."""
    out = image.astype(np.float32)
    for share, change in _CHANGES:
        if scene.chance(share):
            out = change(scene, out)
    return np.clip(out, 0, 255).astype(np.uint8)


def _beard(scene: Scene, out: Floats) -> Floats:
    points = scene.points
    jaw = points[list(_BEARD)]
    inner = points[list(_BEARD)] + (points[4] - jaw) * scene.between(0.15, 0.55)
    area = np.zeros((SIDE, SIDE), np.uint8)
    cv2.fillPoly(area, [_whole(np.concatenate([jaw + (jaw - points[4]) * 0.06, inner[::-1]]))], 255)
    if scene.chance(0.7):
        lip = points[list(_UPPER)]
        cv2.fillPoly(
            area, [_whole(np.concatenate([lip, points[[61, 17, 291]][:1], points[[0]], points[[291]]]))], 255
        )
    cv2.fillPoly(area, [_whole(points[list(OUTER_LIPS)])], 0)
    soft = cv2.GaussianBlur(area, (0, 0), scene.width * scene.between(0.01, 0.05)).astype(np.float32) / 255
    colour = np.array([40, 30, 26]) * scene.between(0.4, 1.8) + np.array([30, 12, 0]) * scene.between(0, 1.2)
    if scene.chance(0.15):
        colour = np.array([150, 148, 145]) * scene.between(0.7, 1.3)
    grain = scene.rng.normal(0, 1, (SIDE, SIDE)).astype(np.float32)
    grain = (
        cv2.GaussianBlur(grain, (0, 0), sigmaX=scene.between(0.5, 1), sigmaY=scene.between(0.6, 2.2)) * 2.2
    )
    dense = soft * np.clip(scene.between(0.2, 0.95) + scene.between(0.1, 0.35) * grain, 0, 1)
    return np.asarray(out + (colour * (1 + 0.15 * grain[..., None]) - out) * dense[..., None], np.float32)


def _shadow(scene: Scene, out: Floats) -> Floats:
    """A cast shadow with a soft or hard edge: half a face, a bar, the brim of a cap, a blob."""
    area = np.zeros((SIDE, SIDE), np.uint8)
    kind = scene.rng.random()
    if kind < 0.45:
        at = scene.centre + scene.rng.normal(0, 0.3, 2) * scene.width
        cv2.fillPoly(
            area,
            [_whole(ellipse(at + 3 * scene.width * _unit(scene), np.full(2, 3 * scene.width), 0, 2, 90))],
            255,
        )
    elif kind < 0.7:
        for _ in range(int(scene.rng.integers(1, 4))):
            ends = scene.centre + scene.rng.normal(0, 0.6, (2, 2)) * scene.width
            cv2.line(area, *_ends(ends), 255, int(scene.rng.integers(4, 40)), cv2.LINE_AA)
    else:
        at = scene.centre + scene.rng.normal(0, 0.3, 2) * scene.width
        cv2.fillPoly(area, [_whole(lump(scene, at, scene.rng.uniform(0.1, 0.5, 2) * scene.width, 0.2))], 255)
    soft = cv2.GaussianBlur(area, (0, 0), scene.between(0.6, 10)).astype(np.float32)[..., None] / 255
    dark = scene.between(0.25, 0.85) * (1 + scene.rng.normal(0, 0.05, 3))
    return np.asarray(out * (1 - soft * (1 - dark)), np.float32)


def _side_light(scene: Scene, out: Floats) -> Floats:
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    way = _unit(scene)
    along = ((x - scene.centre[0]) * way[0] + (y - scene.centre[1]) * way[1]) / scene.width
    gain = np.exp(scene.between(-1.2, 1.2) * np.tanh(2 * along))[..., None]
    tint = 1 + scene.rng.normal(0, 0.12, 3) * np.clip(along, -1, 1)[..., None]
    return np.asarray(out * gain * tint, np.float32)


def _shine(scene: Scene, out: Floats) -> Floats:
    for _ in range(int(scene.rng.integers(1, 5))):
        at = scene.points[(4, 9, 151, 50, 280, 199, 195)[int(scene.rng.integers(7))]]
        spot = np.zeros((SIDE, SIDE), np.float32)
        size = scene.rng.uniform(0.01, 0.09, 2) * scene.width
        cv2.fillPoly(spot, [_whole(ellipse(at + scene.rng.normal(0, 3, 2), size, scene.between(0, 3)))], 1.0)
        soft = cv2.GaussianBlur(spot, (0, 0), float(size.mean()) * scene.between(0.3, 1) + 0.5)
        out = out + soft[..., None] * scene.between(20, 140)
    return out


def _make_up(scene: Scene, out: Floats) -> Floats:
    areas: list[tuple[tuple[int, ...], float]] = [(OUTER_LIPS, 0.5)] if scene.chance(0.6) else []
    areas += [(lid, 0.45) for lid in _LIDS] if scene.chance(0.6) else []
    lips, lids = np.array(scene.colour()), np.array(scene.colour())
    for ring, strength in areas:
        area = np.zeros((SIDE, SIDE), np.uint8)
        cv2.fillPoly(area, [_whole(scene.points[list(ring)])], 255, cv2.LINE_AA)
        soft = cv2.GaussianBlur(area, (0, 0), scene.between(0.5, 2.5)).astype(np.float32)[..., None] / 255
        tone = lips if ring is OUTER_LIPS else lids
        out = out + (tone * (out.mean(axis=2, keepdims=True) / 128) - out) * soft * strength * scene.between(
            0.3, 1.5
        )
    for cheek in (50, 280):
        blush = np.zeros((SIDE, SIDE), np.float32)
        cv2.circle(blush, _whole(scene.points[cheek][None])[0].tolist(), round(0.12 * scene.width), 1.0, -1)
        blush = cv2.GaussianBlur(blush, (0, 0), 0.06 * scene.width)[..., None] * scene.between(0, 0.35)
        out = out * (1 - blush * np.array([0.1, 0.5, 0.45]))
    return np.asarray(out, np.float32)


def _marks(scene: Scene, out: Floats) -> Floats:
    """Freckles, moles and spots."""
    area = np.zeros((SIDE, SIDE), np.uint8)
    for _ in range(int(scene.rng.integers(1, 60))):
        at = scene.points[int(scene.rng.integers(468))] + scene.rng.normal(0, 4, 2)
        size = scene.width * scene.between(0.003, 0.012) * 16
        cv2.circle(area, np.rint(at * 16).astype(int).tolist(), round(size), 255, -1, cv2.LINE_AA, 4)
    soft = area.astype(np.float32)[..., None] / 255 * scene.between(0.1, 0.7)
    return np.asarray(out * (1 - soft * np.array([0.4, 0.6, 0.7])), np.float32)


def _lines(scene: Scene, out: Floats) -> Floats:
    """Wrinkles, folds and scars: darker skin with a lighter side."""
    groove = np.zeros((SIDE, SIDE), np.uint8)
    for _ in range(int(scene.rng.integers(1, 10))):
        at = scene.points[int(scene.rng.integers(468))]
        step = scene.rng.normal(0, 0.12, 2) * scene.width
        line = curve(np.array([at - step, at + scene.rng.normal(0, 0.02, 2) * scene.width, at + step]))
        cv2.polylines(groove, [_whole(line)], False, 255, 1, cv2.LINE_AA)
    for wing, corner in ((129, 61), (358, 291)) if scene.chance(0.6) else ():
        # The fold of a smile, from the wing of the nose round the corner of the mouth, or a part of it.
        start, end = scene.points[wing], scene.points[corner]
        way = (end - scene.centre) * np.array([1, 0])
        middle = (start + end) / 2 + way * scene.between(0.3, 0.9)
        knots = np.array([start, middle, end + way * scene.between(0.2, 0.8)])
        first = int(scene.rng.integers(0, 12))
        part = curve(knots + scene.rng.normal(0, 1.5, knots.shape))[
            first : first + int(scene.rng.integers(8, 24))
        ]
        cv2.polylines(groove, [_whole(part)], False, 255, int(scene.rng.integers(1, 4)), cv2.LINE_AA)
    soft = cv2.GaussianBlur(groove, (0, 0), scene.between(0.6, 1.6)).astype(np.float32)[..., None] / 255
    lit = np.roll(soft, 1, axis=0)
    return np.asarray(out * (1 - scene.between(0.2, 0.6) * soft) * (1 + 0.15 * lit), np.float32)


def _paint(scene: Scene, out: Floats) -> Floats:
    """Tattoos and thin face paint: the skin's own light shows through."""
    area = np.zeros((SIDE, SIDE), np.uint8)
    for _ in range(int(scene.rng.integers(1, 4))):
        at = scene.points[int(scene.rng.integers(468))]
        cv2.fillPoly(area, [_whole(lump(scene, at, scene.rng.uniform(0.03, 0.2, 2) * scene.width, 0.3))], 255)
    inside = cv2.bitwise_and(area, oval_mask(scene.points, SIDE)).astype(np.float32)[..., None] / 255
    tone = np.array(scene.colour()) / 255
    return np.asarray(out * (1 - inside * scene.between(0.1, 0.5) * (1 - tone)), np.float32)


_CHANGES = (
    (0.25, _beard),
    (0.2, _make_up),
    (0.2, _marks),
    (0.35, _lines),
    (0.06, _paint),
    (0.25, _shine),
    (0.35, _side_light),
    (0.3, _shadow),
)


def _unit(scene: Scene) -> Floats:
    angle = scene.between(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle)], np.float32)


def _ends(points: Points) -> tuple[list[int], list[int]]:
    first, last = _whole(points).tolist()
    return first, last


def _whole(points: Points) -> npt.NDArray[np.int32]:
    return np.asarray(np.rint(np.clip(points, -3000, 3000)), np.int32)
