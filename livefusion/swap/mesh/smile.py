"""Takes a smile out of a texture: folds beside the mouth, and what the open lips let see of the teeth."""

from dataclasses import replace
from functools import cache

import cv2
import numpy as np

from livefusion.swap.mesh.bake import Rgb, View
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import INNER_LIPS, OUTER_LIPS, TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.mask import smoothstep, soft_hull

# From the wing of the nose round the corner of the mouth, and under the eye, on the right half.
_FOLD = (129, 203, 206, 216, 212, 57, 186, 92, 165)
_UNDER_EYE = (111, 117, 118, 119, 120, 121, 128, 232, 230, 228)
# Smiles from the first on are softened, fully from the second on.
_SMILE = (0.35, 0.9)
# Folds are darker than their surroundings and broader than pores; shares of them that go.
_FINE, _BROAD = 1.2, 50.0
_DEEPEST = np.float32(9)
_FOLDS_GONE, _LINES_GONE = 0.7, 0.4
# The rim of the lips, in texels from the gap between them, over which they are given the lips' own colour.
_RIM, _RIM_SOFT, _LIP_BLUR = 11, 2.5, 10.0
# How much lighter than the lips teeth are at least, in L.
_TEETH = (10.0, 18.0)
_GAP = (0.008, 0.03)
"""Gaps between the lips, in heights of the mesh, from which the rim shows teeth."""


def soften_smile(view: View, strength: float) -> View:
    """The view without most of what a smile of that strength, in [0, 1], does to skin and lips."""
    softened = _mend_lips(view.rgb, float(smoothstep(np.array(_lip_gap(view.shape)), *_GAP)))
    return replace(view, rgb=_soften_folds(softened, float(smoothstep(np.array(strength), *_SMILE))))


def _soften_folds(rgb: Rgb, amount: float) -> Rgb:
    if amount <= 0:
        return rgb
    lab = np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    folds = low_pass(lab, _FINE) - low_pass(lab, _BROAD)
    # Where it is darker, its colour goes with it.
    darker = smoothstep(-folds[..., 0], 0.0, 2.0)[..., None]
    # A moustache is darker than any fold and stays.
    folds = _DEEPEST * np.tanh(folds / _DEEPEST)
    lab -= np.float32(amount) * _where()[..., None] * darker * folds
    even = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB)
    return np.asarray(np.clip(even * 255 + 0.5, 0, 255), np.uint8)


def _mend_lips(rgb: Rgb, amount: float) -> Rgb:
    """Give the rim of open lips, where teeth and the dark between them shine in, the colour of the lips."""
    if amount <= 0:
        return rgb
    rim, lips, beyond = _lips()
    lab = np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    usual = float(np.median(lab[..., 0][beyond > 0.5]))
    teeth = lips * smoothstep(lab[..., 0] - usual, *_TEETH)
    teeth = np.asarray(cv2.dilate(teeth, np.ones((5, 5), np.uint8)), np.float32)
    weight = beyond * (1 - teeth) + np.float32(1e-3)
    own = low_pass(rgb * weight[..., None], _LIP_BLUR) / low_pass(weight, _LIP_BLUR)[..., None]
    share = np.float32(amount) * low_pass(np.maximum(rim, teeth), _RIM_SOFT)[..., None]
    return np.asarray(np.clip(rgb + share * (own - rgb) + 0.5, 0, 255), np.uint8)


@cache
def _where() -> Floats:
    """(1024, 1024): the share of a fold that goes where it lies."""
    lips = soft_hull(OUTER_LIPS, 9, 4.0)
    fold, line = soft_hull(_FOLD, 61, 12.0), soft_hull(_UNDER_EYE, 9, 8.0)
    share = np.maximum(_FOLDS_GONE * fold, _LINES_GONE * line) * (1 - lips)
    return np.asarray(np.maximum(share, share[:, ::-1]), np.float32)


@cache
def _lips() -> tuple[Floats, Floats, Floats]:
    """(1024, 1024) each: the rim along the gap between the lips, the lips, and what lies beyond the rim."""
    places = canonical_mesh().texels()
    gap, lips = (np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.uint8) for _ in range(2))
    cv2.fillPoly(gap, [places[list(INNER_LIPS)].astype(np.int32)], 1)
    cv2.fillPoly(lips, [places[list(OUTER_LIPS)].astype(np.int32)], 1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _RIM + 1, 2 * _RIM + 1))
    rim = np.asarray(cv2.dilate(gap, disc), np.float32)
    whole = np.asarray(lips, np.float32)
    beyond = np.clip(np.asarray(cv2.erode(lips, disc[::2, ::2]), np.float32) - rim, 0, 1)
    return rim, whole, np.asarray(beyond, np.float32)


def _lip_gap(shape: Floats) -> float:
    gap = np.linalg.norm(shape[13, :2] - shape[14, :2])
    return float(gap / (np.ptp(shape[:, 1]) + 1e-6))
