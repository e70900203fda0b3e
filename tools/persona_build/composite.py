"""One texture and one shape out of many faces: delit, symmetric, and nobody's.

Work is done in CIELAB on the UV map. Skin that a face does not show (hair, the far side of a turned head) has
next to no weight; the other faces count there instead. A mean of many faces has the features of none and is
like the mean of any others, so what sets a persona apart from its kin is made stronger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.swap.mesh.bake import SourcePhoto, inside_outline, split_light, unwrap
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import FEATURES, OUTER_LIPS, TEXTURE_SIZE, Floats
from livefusion.swap.mesh.mask import features, smoothstep, soft_hull
from livefusion.swap.mesh.merge import weighted_midmean
from livefusion.swap.mesh.skin import skin_likeness

from .age import weather

Rgb = npt.NDArray[np.uint8]

_FACING = (0.10, 0.50)
_LEAST_WEIGHT = 0.01
# Share of the faces' common shading (eye sockets, sides of the nose) that is kept.
_COMMON_SHADING, _SHADING_BLUR = 0.5, 60.0
# Outside the inner face remains of hair and blotches are smoothed away: blur, share and bound of L.
_SKIN_BLUR, _SKIN_SHARE, _SKIN_BOUND = 9.0, 0.6, 2.5
# Share of colour differences that is kept, on skin and on lips: make-up would else give blue-grey lids.
_SKIN_COLOUR, _LIP_COLOUR = 0.2, 0.7
# Share of lipstick's darkness that is taken away, told by what is darker than the skin over a whole lip.
_LIPSTICK, _LIP_BLUR = 0.4, 14.0
# Share of the soft shadow round the eyes that is taken away, likewise; brows are finer than the blur.
_LID_SHADOW, _LID_BLUR = 0.35, 22.0
# Brows and nose wings of many faces never lie quite on each other: what is brighter than its surroundings and
# narrower than this is their ghost, but for the glint on the lips. What is darker is a strand of hair, except
# on brows, eyes, nose and lips.
_GHOST_WIDTH, _GHOST_SHARE = 15, 0.8
# A mean of many faces is flatter than any of them; one that was moved away from its kin is not.
_MOST_GAIN, _CONTRAST = 1.3, 9.0
# Bounds in L of what is broader than the blur: glints and shadows are of the photos' light, not of the faces.
_GLINT, _SHADOW, _BROAD_BLUR = 6.0, 16.0, 10.0
# On the cheeks shadows are beards that some have and others have not: they would stay as blotches.
_CHEEK_SHADOW = 3.0
_CHEEK = (118, 101, 36, 205, 187, 147, 123, 116, 117)
# The photos show faces of 200 px, so nothing finer than 5 texels is real: pores are grain.
_GRAIN, _GRAIN_BLURS = 0.65, (2.2, 4.5)
_GRAIN_SEED = 1
_BEARD = (165, 391, 206, 426, 214, 434, 135, 364, 150, 379, 152)
_BROW = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
# What tells one face from another: eyes with their brows, nose and lips.
_SOCKETS = (
    (70, 63, 105, 66, 107, 55, 33, 145, 133, 111, 243),
    (300, 293, 334, 296, 336, 285, 263, 374, 362, 340, 463),
)
_NOSE = (168, 122, 351, 48, 278, 64, 294, 2, 129, 358)
_EYES_AND_BROWS = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300, 33, 263, 145, 374)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """What one face gives: ``detail`` (1024, 1024, 3) in Lab and ``shading`` (1024, 1024) in L with the
    ``weight`` (1024, 1024) of each texel, and the ``shape`` (468, 3) in pixels of the photo."""

    detail: Floats
    shading: Floats
    weight: Floats
    shape: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """What several faces give together: ``detail`` (1024, 1024, 3) in Lab, ``shading`` (1024, 1024) in L."""

    detail: Floats
    shading: Floats

    def away_from(self, kin: Blend, factor: float) -> Blend:
        """The blend with its differences in detail from ``kin`` multiplied."""
        return Blend(kin.detail + np.float32(factor) * (self.detail - kin.detail), self.shading)


def peel(rgb: Rgb, landmarks: Landmarks) -> Layer:
    """The layer of a face in a photo (h, w, 3) with its (478, 3) landmarks."""
    view = unwrap(SourcePhoto(rgb, landmarks))
    skin = np.maximum(features(), skin_likeness(view.rgb))
    weight = smoothstep(view.facing, *_FACING) * skin + np.float32(_LEAST_WEIGHT)
    detail, light = split_light(view.rgb, weight)
    return Layer(detail, light[..., 0], weight, view.shape)


def blend(layers: Sequence[Layer], shares: Sequence[float]) -> Blend:
    """The midmean of faces and their mirror images; ``shares`` say how much each counts."""
    weights = [np.float32(share) * layer.weight for layer, share in zip(layers, shares, strict=True)]
    detail = _symmetric_midmean([layer.detail for layer in layers], weights)
    shading = _symmetric_midmean([layer.shading[..., None] for layer in layers], weights)[..., 0]
    inner = soft_hull(FEATURES, 5, _SHADING_BLUR)
    shading -= shading[inner > 0.5].mean()
    return Blend(detail, np.float32(_COMMON_SHADING) * inner * shading)


def groom(mixed: Blend, beard: float, brows: float) -> Blend:
    """A blend with a share of the darkness of its beard and of its brows: 0 shaves them, 1 leaves them."""
    detail = mixed.detail.copy()
    lips, jaw = soft_hull(OUTER_LIPS, 5, 4.0), soft_hull(_BEARD, 5, 12.0)
    brow = soft_hull(_BROW, 21, 6.0)
    for share, place in ((beard, jaw * (1 - lips)), (brows, np.maximum(brow, brow[:, ::-1]))):
        detail[..., 0] += np.float32(1 - share) * place * np.maximum(-detail[..., 0], 0)
    return Blend(detail, mixed.shading)


def paint(mixed: Blend, tone: tuple[float, float, float], age: float, plain: float) -> Rgb:
    """The (1024, 1024, 3) RGB texture of a blend; ``tone`` is the mean colour of its skin in Lab.

    ``plain`` in [0, 1] says how smooth the skin between eyes, nose and lips is made.
    """
    inner = np.asarray(features() * (1 - plain * (1 - _telling())), np.float32)[..., None]
    detail = mixed.detail.copy()
    detail[..., 0] = _even_contrast(detail[..., 0])
    detail = inner * _without_make_up(detail) + (1 - inner) * _plain_skin(detail)
    lab = detail + np.array(tone, np.float32)
    lab[..., 0] += mixed.shading + _grain()
    rgb = cv2.cvtColor(np.asarray(weather(lab, age), np.float32), cv2.COLOR_LAB2RGB)
    texture = np.asarray(np.clip(rgb * 255 + 0.5, 0, 255), np.uint8)
    texture[~inside_outline()] = texture[inside_outline()].mean(axis=0)
    return texture


def _even_contrast(light: Floats) -> Floats:
    """L of the detail (1024, 1024) with glints and shadows bounded, and the common contrast."""
    broad = low_pass(light, _BROAD_BLUR)
    cheek = soft_hull(_CHEEK, 9, 15.0)
    shadow = _SHADOW + (_CHEEK_SHADOW - _SHADOW) * np.maximum(cheek, cheek[:, ::-1])
    bound = np.where(broad > 0, np.float32(_GLINT), shadow)
    bounded = bound * np.tanh(broad / bound)
    even = light - broad + bounded
    deviation = float(even[features() > 0.5].std())
    return np.asarray(even * min(_MOST_GAIN, _CONTRAST / deviation), np.float32)


def _telling() -> Floats:
    """(1024, 1024) in [0, 1]: 1 on eyes, brows, nose and lips, softly 0 round them."""
    hulls = [soft_hull(vertices, 25, 10.0) for vertices in (*_SOCKETS, _NOSE)]
    return np.asarray(np.max([*hulls, soft_hull(OUTER_LIPS, 31, 9.0)], axis=0), np.float32)


def _plain_skin(detail: Floats) -> Floats:
    """Detail (1024, 1024, 3) in Lab without what hair left in it."""
    smooth = low_pass(detail, _SKIN_BLUR)
    bound = np.float32(_SKIN_BOUND)
    smooth[..., 0] = bound * np.tanh(_SKIN_SHARE * smooth[..., 0] / bound)
    smooth[..., 1:] *= np.float32(_SKIN_COLOUR)
    return smooth


def _without_make_up(detail: Floats) -> Floats:
    """Detail (1024, 1024, 3) in Lab in the colours of bare skin, without lipstick and shadow on the lids."""
    bare = detail.copy()
    lips, eyes = soft_hull(OUTER_LIPS, 9, 5.0), soft_hull(_EYES_AND_BROWS, 41, 15.0)
    bare[..., 1:] *= (_SKIN_COLOUR + (_LIP_COLOUR - _SKIN_COLOUR) * lips)[..., None]
    bare[..., 0] -= _LID_SHADOW * eyes * np.minimum(low_pass(detail[..., 0], _LID_BLUR), 0)
    bare[..., 0] -= _LIPSTICK * lips * np.minimum(low_pass(detail[..., 0], _LIP_BLUR), 0)
    bare[..., 0] -= _GHOST_SHARE * (1 - lips) * _narrow(bare[..., 0], cv2.MORPH_TOPHAT)
    bare[..., 0] += _GHOST_SHARE * (1 - _telling()) * _narrow(bare[..., 0], cv2.MORPH_BLACKHAT)
    return bare


def _narrow(light: Floats, kind: int) -> Floats:
    """By how much L (1024, 1024) is brighter (top hat) or darker (black hat) than round it, in lines."""
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_GHOST_WIDTH, _GHOST_WIDTH))
    return np.asarray(cv2.morphologyEx(light, kind, disc), np.float32)


def _symmetric_midmean(layers: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    """Weighted midmean of the layers and their mirror images."""
    stack = np.stack([*layers, *(layer[:, ::-1] for layer in layers)])
    shares = np.stack([*weights, *(weight[:, ::-1] for weight in weights)])
    return weighted_midmean(stack, shares)


def _grain() -> Floats:
    """(1024, 1024) noise in two octaves, each of the deviation of pores."""
    random = np.random.default_rng(_GRAIN_SEED)
    grain = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.float32)
    for blur in _GRAIN_BLURS:
        octave = cv2.GaussianBlur(random.normal(size=grain.shape).astype(np.float32), (0, 0), blur)
        grain += octave / octave.std()
    return grain * np.float32(_GRAIN)
