"""Marks of age that no contributor had to give: folds, grey brows and mottled skin, drawn on the UV map.

Each mark lives in a band of frequencies of its own: a fold is a groove of a few texels with a softer ridge on
either side, mottling is noise as broad as a freckle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import OUTER_LIPS, TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.mask import soft_hull

Points = npt.NDArray[np.floating]

_SEED = 2
_RIDGE = 0.45
"""How much of a groove's darkness its two sides get back as light: a fold bends skin towards the light."""
_SUBPIXEL_BITS = 4
_BROW = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
_BROW_GREY, _BROW_FADE = 0.35, 0.3
_LIP_FADE = 0.5
# Mottling: blurs in texels, and deviations in L and in a and b.
_MOTTLE = ((16.0, 0.5, 0.5), (6.0, 0.6, 0.4))
# Vertices along a crease of the right half of the face, half width in texels, and depth in L.
_CREASES: tuple[tuple[tuple[int, ...], float, float], ...] = (
    ((129, 203, 206, 216, 212), 5.0, 7.0),  # from the wing of the nose past the corner of the mouth
    ((61, 57, 43, 202), 4.0, 3.5),  # from the corner of the mouth down
    ((232, 231, 230, 229, 228), 4.0, 3.5),  # below the bag under the eye
    ((233, 232, 231, 230), 2.0, 1.5),
    ((226, 35, 143), 2.0, 1.5),  # crow's feet, clear of the lid: from its corner on they would be eye-liner
    ((31, 111), 2.0, 1.5),
    ((113, 124), 2.0, 1.5),
    ((107, 9), 2.5, 2.0),  # between the brows
)
_FOREHEAD = ((104, 69, 108, 151), (103, 67, 109, 10))
_FOREHEAD_WIDTH, _FOREHEAD_DEPTH, _FOREHEAD_WAVE = 3.0, 3.0, 5.0


def weather(lab: Floats, age: float) -> Floats:
    """A texture (1024, 1024, 3) float32 in Lab made older; ``age`` 0 leaves it as it is, 1 is about 60."""
    if age == 0:
        return lab
    older = lab.copy()
    older[..., 0] -= np.float32(age) * _grooves()
    noise = np.random.default_rng(_SEED)
    for blur, light, colour in _MOTTLE:
        older[..., 0] += np.float32(age * light) * _patches(noise, blur)
        older[..., 1] += np.float32(age * colour) * _patches(noise, blur)
    _grey_brows(older, age)
    _fade_lips(older, age)
    return older


def _grooves() -> Floats:
    """(1024, 1024) in L: how much darker the creases make the skin, negative where their sides are lit."""
    depth = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.float32)
    for places, width, dark in _creases():
        line = _stroke(places)
        inner = cv2.GaussianBlur(line, (0, 0), width)
        outer = cv2.GaussianBlur(line, (0, 0), 2.5 * width)
        groove = inner / inner.max() - np.float32(_RIDGE) * outer / outer.max()
        depth += np.float32(dark) * groove
    return depth


def _creases() -> Iterator[tuple[Points, float, float]]:
    texels = canonical_mesh().texels()
    for vertices, width, dark in _CREASES:
        yield texels[list(vertices)], width, dark
    for row in _FOREHEAD:
        half = texels[list(row)].copy()
        half[:, 1] += _FOREHEAD_WAVE * np.sin(np.arange(len(half)) * 2.0)
        yield half, _FOREHEAD_WIDTH, _FOREHEAD_DEPTH


def _stroke(places: Points) -> Floats:
    """(1024, 1024): a smooth line through texels and its mirror image, thinning out at both ends."""
    canvas = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.float32)
    curve = _smooth(places)
    strength = np.sin(np.linspace(0.25, np.pi - 0.25, len(curve)))
    for start, end, weight in zip(curve[:-1], curve[1:], strength, strict=False):
        part = np.zeros_like(canvas)
        corners = np.round(np.stack([start, end]) * (1 << _SUBPIXEL_BITS)).astype(np.int32)
        cv2.polylines(part, [corners], False, float(weight), 2, cv2.LINE_8, _SUBPIXEL_BITS)
        canvas = np.maximum(canvas, part)
    mirrored: Floats = np.maximum(canvas, canvas[:, ::-1])
    return mirrored


def _smooth(places: Points, steps: int = 12) -> Points:
    """A quadratic through the places, densely sampled: creases do not turn corners."""
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1))])
    degree = min(2, len(places) - 1)
    fine = np.linspace(0, along[-1], steps)
    return np.stack([np.polyval(np.polyfit(along, places[:, axis], degree), fine) for axis in (0, 1)], axis=1)


def _patches(noise: np.random.Generator, blur: float) -> Floats:
    """(1024, 1024) noise of deviation 1, as broad as ``blur`` texels."""
    raw = noise.normal(size=(TEXTURE_SIZE, TEXTURE_SIZE)).astype(np.float32)
    patches = np.asarray(cv2.GaussianBlur(raw, (0, 0), blur), np.float32)
    return np.asarray(patches / patches.std(), np.float32)


def _both(vertices: Sequence[int], margin: int, blur: float) -> Floats:
    one = soft_hull(vertices, margin, blur)
    return np.maximum(one, one[:, ::-1])


def _grey_brows(lab: Floats, age: float) -> None:
    hair = np.float32(age) * _both(_BROW, 15, 6.0)
    skin = np.median(lab[..., 0])
    lab[..., 0] += hair * np.float32(_BROW_GREY) * np.maximum(skin - lab[..., 0], 0)
    dark = np.clip((skin - lab[..., 0]) / 20, 0, 1)
    lab[..., 1:] *= (1 - np.float32(_BROW_FADE) * hair * dark)[..., None]


def _fade_lips(lab: Floats, age: float) -> None:
    lips = np.float32(age * (1 - _LIP_FADE)) * soft_hull(OUTER_LIPS, 9, 5.0)
    skin = np.median(lab[..., 1:], axis=(0, 1))
    lab[..., 1:] -= lips[..., None] * (lab[..., 1:] - skin)
