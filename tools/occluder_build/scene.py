"""Training examples: a face, turned and lit, with or without things before it, and what they cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from livefusion.core.geometry import Affine
from livefusion.swap.mesh.canonical import canonical_mesh

from . import cloth, glasses, hair, hands, nature, objects
from .camera import degrade, expose, motion_blur
from .faces import FULL, MARGIN, SIDE, FaceBank, oval_mask, skin_colour
from .layer import Bytes, Floats, Layer, Scene
from .mouth import open_mouth

CROP = 128
"""Side of what the network sees."""

_KINDS: tuple[tuple[float, Callable[[Scene], Layer]], ...] = (
    (0.3, hands.hand),
    (0.13, hair.strand),
    (0.14, hair.wisp),
    (0.05, hair.fringe),
    (0.04, hair.curtain),
    (0.16, glasses.glasses),
    (0.09, objects.microphone),
    (0.03, objects.headset),
    (0.06, objects.vessel),
    (0.04, objects.slab),
    (0.07, objects.food),
    (0.05, cloth.mask),
    (0.02, cloth.scarf),
    (0.03, cloth.strap),
    (0.12, cloth.piece),
    (0.07, cloth.white),
)
_BARE, _OPEN = 0.16, 0.3
# What lies beyond the face is of little interest, and its hair has no label.
_BEYOND, _BEYOND_COVERED = 0.02, 0.12
# How wide the rim of a face is, in face widths, and what unlabelled hair and background count there.
_RIM, _AT_RIM = 0.13, 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """``image`` (CROP, CROP, 3) RGB, ``cover`` and ``weight`` (CROP, CROP), all uint8, 255 for 1."""

    image: Bytes
    cover: Bytes
    weight: Bytes


def compose(bank: FaceBank, rng: np.random.Generator, face: int | None = None) -> Example:
    """One example, drawn by chance."""
    number = int(rng.integers(len(bank))) if face is None else face
    image, unsure, points = _placed(bank, number, rng)
    if rng.random() < _OPEN:
        image, points = open_mouth(image, points, rng)
    texture = _texture(bank, rng)
    width, height = np.ptp(points[:, 0]), np.ptp(points[:, 1])
    scene = Scene(rng, points, float(width), float(height), skin_colour(image, points), texture)
    image = nature.dress(scene, image)
    cover = np.zeros((SIDE, SIDE), np.uint8)
    weights = [share for share, _ in _KINDS]
    for _ in range(0 if scene.chance(_BARE) else 1 + int(scene.chance(0.25))):
        kind = int(rng.choice(len(_KINDS), p=np.array(weights) / sum(weights)))
        image, cover = _put(scene, image, cover, _KINDS[kind][1](scene))
    weight = _weight(points, unsure, cover)
    size = (CROP, CROP)
    # A live crop is sampled without care for what lies between the samples.
    way = (cv2.INTER_AREA, cv2.INTER_LINEAR, cv2.INTER_NEAREST)[int(rng.choice(3, p=(0.55, 0.3, 0.15)))]
    small = cv2.resize(image, size, interpolation=way)
    seen = float(bank.sizes[number]) * 1.2 * float(rng.uniform(0.75, 1.0))
    small = degrade(expose(np.asarray(small, np.uint8), rng), rng, seen)
    planes = [
        np.asarray(cv2.resize(p, size, interpolation=cv2.INTER_AREA), np.uint8) for p in (cover, weight)
    ]
    return Example(small, planes[0], planes[1])


def _placed(bank: FaceBank, number: int, rng: np.random.Generator) -> tuple[Bytes, Bytes, Floats]:
    """Face, its unsure hair and its points on the canvas, as imperfect landmarks would place it."""
    middle = (FULL - 1) / 2
    to = (SIDE - 1) / 2 + rng.normal(0, 0.025, 2) * SIDE
    scale, angle = float(np.exp(rng.normal(0, 0.07))), float(rng.normal(0, 0.09))
    place = Affine.similarity(scale, angle, (middle, middle), (float(to[0]), float(to[1]))).matrix.copy()
    place[0, :2] *= np.exp(rng.normal(0, 0.05))
    place[:, 2] += to - (place[:, :2] @ [middle, middle] + place[:, 2])
    if rng.random() < 0.5:
        place[0] = -place[0]
        place[0, 2] += SIDE - 1
    size = (SIDE, SIDE)
    image = cv2.warpAffine(bank.images[number], place, size, borderMode=cv2.BORDER_REPLICATE)
    unsure = cv2.warpAffine(bank.unsure[number], place, size)
    points = Affine(place)(bank.points[number].astype(np.float64)).astype(np.float32)
    if place[0, 0] < 0:
        points = points[_MIRRORED]
    return np.asarray(image, np.uint8), np.asarray(unsure, np.uint8), points


def _put(scene: Scene, image: Bytes, cover: Bytes, layer: Layer) -> tuple[Bytes, Bytes]:
    """The layer over the image, with the shadow it casts, out of focus or moving at times."""
    rng = scene.rng
    rgb, alpha = layer.rgb, layer.alpha
    kind = rng.random()
    if kind < 0.12:
        rgb, alpha = _smeared(
            rgb, alpha, lambda plane, seed: motion_blur(plane, np.random.default_rng(seed), 17), rng
        )
    elif kind < 0.3:
        sigma = scene.between(0.5, 3.0)
        rgb, alpha = _smeared(rgb, alpha, lambda plane, _: _blur(plane, sigma), rng)
    base = image.astype(np.float32)
    if scene.chance(0.6):
        shift = np.array([[1, 0, rng.normal(0, 4)], [0, 1, scene.between(0, 7)]], np.float32)
        cast = _blur(np.asarray(cv2.warpAffine(alpha, shift, (SIDE, SIDE)), np.uint8), scene.between(1, 7))
        base = base * (1 - cast[..., None].astype(np.float32) * (scene.between(0.1, 0.6) / 255))
    gain = scene.between(0.7, 1.15) if scene.chance(0.5) else 1.0
    share = alpha[..., None].astype(np.float32) / 255
    mixed = base + (np.clip(rgb * gain, 0, 255) - base) * share
    return np.clip(mixed, 0, 255).astype(np.uint8), np.maximum(cover, alpha)


def _smeared(
    rgb: Bytes, alpha: Bytes, blur: Callable[[Bytes, int], Bytes], rng: np.random.Generator
) -> tuple[Bytes, Bytes]:
    seed = int(rng.integers(1 << 30))
    share = alpha[..., None].astype(np.float32) / 255
    spread = blur(alpha, seed)
    light = blur(np.asarray(rgb * share, np.uint8), seed).astype(np.float32)
    colours = light / np.maximum(spread[..., None].astype(np.float32) / 255, 1e-3)
    return np.clip(colours, 0, 255).astype(np.uint8), spread


def _blur(plane: Bytes, sigma: float) -> Bytes:
    return np.asarray(cv2.GaussianBlur(plane, (0, 0), sigma), np.uint8)


def _weight(points: Floats, unsure: Bytes, cover: Bytes) -> Bytes:
    inside = _blur(oval_mask(points, SIDE), 1.5).astype(np.float32) / 255
    beyond = np.where(cover > 128, _BEYOND_COVERED, _BEYOND)
    weight = inside + (1 - inside) * beyond
    # Its own hair deep in a face may cover it, but nobody marked where. At its rim hair and background meet
    # the face as they always do: covered is what was drawn there.
    reach = max(3, round(_RIM * float(np.ptp(points[:, 0])))) | 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach))
    oval = oval_mask(points, SIDE)
    rim = (cv2.dilate(oval, kernel) > 128) & (cv2.erode(oval, kernel) < 128)
    doubtful = (unsure > 64) & (cover < 240)
    weight = np.where(doubtful, np.where(rim & (cover < 16), _AT_RIM, 0), weight)
    return np.asarray(np.rint(weight * 255), np.uint8)


def _texture(bank: FaceBank, rng: np.random.Generator) -> Bytes:
    """A piece of another photo, small or large."""
    image = bank.images[int(rng.integers(len(bank)))]
    part = int(rng.integers(40, FULL - MARGIN))
    y, x = rng.integers(0, FULL - part, 2)
    cut = image[y : y + part, x : x + part]
    return np.asarray(cv2.resize(cut, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR), np.uint8)


def _mirror_order() -> list[int]:
    """For each landmark the one on the other side of the face."""
    vertices = canonical_mesh().vertices
    flipped = vertices * np.array([-1, 1, 1], np.float32)
    away = ((flipped[:, None] - vertices[None]) ** 2).sum(axis=2)
    return [int(k) for k in away.argmin(axis=1)]


_MIRRORED = _mirror_order()
