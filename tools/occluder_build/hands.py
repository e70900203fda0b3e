"""Hands before a face: fingers and palm of rounded limbs, with nails, creases and sleeve."""

from __future__ import annotations

import cv2
import numpy as np

from .faces import SIDE
from .layer import Bytes, Floats, Layer, Points, Scene, direction, noise
from .limbs import draw_limbs

# Root of each finger on the palm (across, along), its length, and its spread in radians, in hand lengths.
_FINGERS = (
    (-0.17, 0.0, 0.38, -0.12),
    (-0.06, 0.03, 0.43, -0.03),
    (0.05, 0.02, 0.40, 0.04),
    (0.155, -0.03, 0.31, 0.14),
)
_SKINS = ((241, 205, 184), (224, 177, 148), (198, 144, 110), (160, 106, 76), (112, 72, 50), (70, 44, 32))


class _Hand:
    """A hand in a pose: ``limbs`` (n, 8), tips and joints of the fingers."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.length = scene.height * scene.between(0.6, 1.1)
        self.angle = _from_below(scene)
        self.along = direction(self.angle)
        self.across = direction(self.angle + np.pi / 2) * (1 if scene.chance(0.5) else -1)
        target = scene.points[int(scene.rng.integers(468))] + scene.rng.normal(0, 0.12, 2) * scene.height
        self.palm = target - self.along * self.length * scene.between(-0.1, 0.6)
        self.limbs: list[list[float]] = []
        self.nails: list[tuple[Points, float, float]] = []
        self.joints: list[tuple[Points, Points, float]] = []
        self._pose()

    def _pose(self) -> None:
        scene, unit = self._scene, self.length
        thick = unit * scene.between(0.048, 0.064)
        kind = scene.rng.random()
        curls = scene.rng.uniform(0.0, 0.25, 4)
        if kind < 0.12:
            curls = scene.rng.uniform(0.75, 0.95, 4)
        elif kind < 0.3:
            curls = np.where(scene.rng.random(4) < 0.5, curls, scene.rng.uniform(0.6, 0.9, 4))
        elif kind < 0.42:
            curls += scene.between(0.1, 0.4)
        spread = scene.between(-0.2, 2.4) if scene.chance(0.6) else scene.between(1.2, 3.0)
        for finger, curl in zip(_FINGERS, curls, strict=True):
            self._finger(finger, float(curl), spread, thick * scene.between(0.9, 1.08))
        self._thumb(thick * 1.1)
        low, high = -0.36 * unit, -0.02 * unit
        for side in (-0.13, -0.045, 0.045, 0.12):
            start = self.palm + self.across * side * unit * 0.75 + self.along * low
            end = self.palm + self.across * side * unit + self.along * high
            self._limb(start, 0.075 * unit, 0, end, 0.066 * unit, 0)
        wrist = self.palm + self.along * -0.4 * unit
        self.elbow = wrist - (self.along + self.across * scene.between(-0.3, 0.3)) * unit * 2.2
        self._limb(wrist, 0.135 * unit, -0.06 * unit, self.elbow, 0.2 * unit, -0.1 * unit)
        self.cuff = wrist - self.along * unit * scene.between(0.05, 0.9)

    def _finger(self, finger: tuple[float, ...], curl: float, spread: float, thick: float) -> None:
        across, along, length, fan = finger
        unit = self.length
        at = self.palm + self.across * across * unit + self.along * along * unit
        turn = self.across * np.sin(fan * spread) + self.along * np.cos(fan * spread)
        bend, z = 0.0, 0.0
        for part, share in enumerate((0.46, 0.3, 0.24)):
            bend += curl * (1.0, 1.5, 1.2)[part]
            step = length * share * unit
            end = at + turn * step * np.cos(bend)
            end_z = z + step * np.sin(bend) * 0.9
            slim = thick * (1 - 0.09 * part)
            self._limb(at, slim, z, end, slim * 0.92, end_z)
            self.joints.append((end, turn, slim))
            at, z = end, end_z
        if curl < 0.35:
            self.nails.append((at, float(np.arctan2(turn[1], turn[0])), thick * 0.8))

    def _thumb(self, thick: float) -> None:
        scene, unit = self._scene, self.length
        at = self.palm - self.across * 0.16 * unit - self.along * 0.24 * unit
        angle = scene.between(0.1, 1.2)
        for share in (0.22, 0.16, 0.13):
            turn = self.along * np.cos(angle) - self.across * np.sin(angle)
            end = at + turn * share * unit
            self._limb(at, thick * 1.15, 0.03 * unit, end, thick, 0.04 * unit)
            at, angle = end, angle - scene.between(0.0, 0.35)

    def _limb(  # noqa: PLR0917 - both ends of a cone
        self, start: Points, r0: float, z0: float, end: Points, r1: float, z1: float
    ) -> None:
        """A rounded cone between two ends."""
        self.limbs.append([*start.tolist(), r0, z0, *end.tolist(), r1, z1])


def hand(scene: Scene) -> Layer:
    """A hand with its forearm, in the skin of the face or in another."""
    made = _Hand(scene)
    alpha = np.zeros((SIDE, SIDE), np.float32)
    shade, depth = np.zeros_like(alpha), np.full_like(alpha, -1e9)
    light = np.array(
        [scene.between(-0.6, 0.6), scene.between(-0.9, 0.1), scene.between(0.5, 1.0)], np.float32
    )
    draw_limbs(np.array(made.limbs, np.float32), light / np.linalg.norm(light), alpha, shade, depth)
    colours = _skin(scene, shade)
    _creases(made, scene, colours)
    _nails(made, scene, colours)
    _sleeve(made, scene, colours, shade)
    layer = Layer()
    layer.paint(colours, np.asarray(np.clip(alpha * 255, 0, 255), np.uint8))
    return layer


def skin_of_hand(scene: Scene) -> Floats:
    """A skin colour (3,): mostly near that of the face."""
    if scene.chance(0.7):
        base = scene.skin * scene.between(0.7, 1.2) + scene.rng.normal(0, scene.between(0, 9), 3)
    else:
        base = np.array(_SKINS[int(scene.rng.integers(len(_SKINS)))]) * scene.between(0.6, 1.1)
        base = base + scene.rng.normal(0, 6, 3)
    return np.clip(base, 8, 250).astype(np.float32)


def _skin(scene: Scene, shade: Floats) -> Floats:
    base = skin_of_hand(scene)
    # From a hand under one lamp to one in light from all sides, which is flat.
    dark = scene.between(0.25, 0.95)
    light = dark + (1.1 - dark) * shade ** scene.between(0.7, 1.6)
    light = light * noise(scene, scene.between(6, 20), 0.05) * noise(scene, 2, scene.between(0, 0.03))
    red = 1 + scene.between(0.0, 0.12) * (1 - shade)
    colours = base * light[..., None]
    colours[..., 0] *= red
    shine = scene.between(0, 60) * np.clip(shade - 0.85, 0, 1) * 4
    return np.asarray(colours + shine[..., None], np.float32)


def _creases(made: _Hand, scene: Scene, colours: Floats) -> None:
    lines: Bytes = np.zeros((SIDE, SIDE), np.uint8)
    for at, turn, thick in made.joints:
        side = np.array([-turn[1], turn[0]]) * thick
        for step in (-0.15, 0.15) if scene.chance(0.6) else (0.0,):
            ends = np.rint(np.array([at - side * 0.6, at + side * 0.6]) + turn * thick * step).astype(int)
            cv2.line(lines, ends[0].tolist(), ends[1].tolist(), 255, 1, cv2.LINE_AA)
    colours *= 1 - (scene.between(0.0, 0.35) / 255) * lines[..., None].astype(np.float32)


def _nails(made: _Hand, scene: Scene, colours: Floats) -> None:
    if scene.chance(0.45):
        return
    painted = scene.chance(0.25)
    for at, angle, thick in made.nails:
        mask: Bytes = np.zeros((SIDE, SIDE), np.uint8)
        size = (max(1, round(thick * 0.75)), max(1, round(thick * 0.55)))
        cv2.ellipse(
            mask, np.rint(at).astype(int).tolist(), size, np.degrees(angle), 0, 360, 255, -1, cv2.LINE_AA
        )
        tone = np.array(scene.colour()) if painted else np.array([235, 190, 180]) * scene.between(0.6, 1.05)
        share = mask[..., None].astype(np.float32) / 255 * (0.9 if painted else 0.5)
        colours += (tone - colours) * share


def _sleeve(made: _Hand, scene: Scene, colours: Floats, shade: Floats) -> None:
    if scene.chance(0.3):
        return
    y, x = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    behind = (x - made.cuff[0]) * made.along[0] + (y - made.cuff[1]) * made.along[1] < 0
    cloth = np.array(scene.colour()) * (0.4 + 0.7 * shade[..., None]) * noise(scene, 5, 0.1)[..., None]
    colours[behind] = cloth[behind]


def _from_below(scene: Scene) -> float:
    """Which way the fingers point: mostly up, from the lower half; sometimes from anywhere."""
    if scene.chance(0.75):
        return float(-np.pi / 2 + scene.rng.normal(0, 0.8))
    return scene.between(-np.pi, np.pi)
