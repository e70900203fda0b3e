"""What of a texture is skin: hair that hangs into the face is cut out of the alpha."""

from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.bake import inside_outline
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import CHEEKS, NOSE_TIP, TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.mask import smoothstep
from livefusion.swap.mesh.regions import beside_eyes, inner_face

_SAMPLE_HALF = 12
# Added to the measured spread of the skin: light varies over a face more than over a cheek.
_SPREAD_MARGIN = np.array([14, 4, 5], np.float32)
# The same for a texture without light.
_DELIT_MARGIN = np.array([14, 3.5, 4], np.float32)
# Normalised distances from the mean skin colour: skin below the first, not skin above the second.
_SKIN, _NOT_SKIN = 1.2, 2.2
_GROW_HAIR = 15
_HAIR_MARGIN = 33
_SOFTEN_BEFORE, _SOFTEN_AFTER = 6, 16
# Streaks: blur in texels, and factor and offset of the cheeks' own, for none and for hair.
_STRAND_BLUR, _STRANDS = 7.0, ((1.4, 2.5), (2.2, 5.0))
_OUTLINE_MARGIN = 31
# Rays go out from the bridge of the nose, as far as the farthest corner.
_MIDDLE, _MOUTH, _REACH = 6, 14, 900.0
# Shares of a chin that is not skin: bare up to the first, bearded from the second on.
_CHIN_SKIN, _BEARDED = (200, 18, 201, 421, 194, 418, 32, 262), (0.1, 0.3)
_THIN, _RAY_BLUR = 17, 8.0


def hair_cut(rgb: npt.NDArray[np.uint8]) -> Floats:
    """(1024, 1024) in [0, 1] for a delit texture (1024, 1024, 3) uint8: 0 where hair hangs into the face.

    The inner face is never cut, and below the mouth a beard stays. Elsewhere what lies beyond the first hair,
    seen from the nose, is cut too: a light strand has the colour of skin, but no skin lies beyond a fringe.
    """
    alike = _likeness(rgb, _DELIT_MARGIN)
    skin = np.minimum(alike, 1 - _strands(rgb))
    skin = np.maximum(skin, smoothstep(np.maximum(inner_face(), beside_eyes()), 0.1, 0.5))
    below = below_mouth()
    skin = below * skin + (1 - below) * _reached_from_within(skin)
    # A wide margin: under a fringe lies its shadow, which would show as a line across the forehead.
    skin = np.asarray(cv2.erode(skin, _disc(_HAIR_MARGIN)), np.float32)
    cut = (1 - inner_face()) * (1 - skin) * (1 - _beard(alike))
    return low_pass(1 - cut, _SOFTEN_AFTER)


def skin_likeness(rgb: npt.NDArray[np.uint8]) -> Floats:
    """(n, n) in [0, 1] for a texture (n, n, 3) uint8 of any side: 1 where it has the colour of its skin.

    Skin is modelled by mean and spread of the cheeks and the bridge of the nose in Lab; what is not grows
    by a few texels, to take the hair's soft edge along.
    """
    return _likeness(rgb, _SPREAD_MARGIN)


def _likeness(rgb: npt.NDArray[np.uint8], margin: Floats) -> Floats:
    lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
    samples = np.concatenate([_sample(lab, index) for index in CHEEKS])
    spread = samples.std(axis=0) + margin
    distance = np.sqrt(np.square((lab - np.median(samples, axis=0)) / spread).mean(axis=2))
    scale = len(rgb) / TEXTURE_SIZE
    skin = cv2.GaussianBlur(1 - smoothstep(distance, _SKIN, _NOT_SKIN), (0, 0), scale * _SOFTEN_BEFORE)
    grown = 2 * int(scale * _GROW_HAIR / 2) + 1
    return np.asarray(cv2.erode(skin, np.ones((grown, grown), np.uint8)), np.float32)


def _strands(rgb: npt.NDArray[np.uint8]) -> Floats:
    """(1024, 1024) in [0, 1]: 1 where a texture is streaky like hair rather than smooth like the cheeks."""
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    energy = np.sqrt(low_pass(np.square(low_pass(grey, 2.0) - low_pass(grey, _STRAND_BLUR)), _STRAND_BLUR))
    usual = float(np.median(np.concatenate([_sample(energy[..., None], index) for index in CHEEKS])))
    streaky = smoothstep(energy, *(factor * usual + least for factor, least in _STRANDS))
    return np.asarray(streaky * _within_outline(), np.float32)


@cache
def _within_outline() -> npt.NDArray[np.bool_]:
    """(1024, 1024): where no texel beyond the mesh is near, which would look like a streak."""
    inside = inside_outline().astype(np.uint8)
    return np.asarray(cv2.erode(inside, _disc(_OUTLINE_MARGIN)) > 0, np.bool_)


def _reached_from_within(skin: Floats) -> Floats:
    """The least of (1024, 1024) values on the way from the middle of the face to each texel."""
    x, y = (float(value) for value in canonical_mesh().texels()[_MIDDLE])
    side, rays = TEXTURE_SIZE, 1024
    flags = cv2.INTER_LINEAR | cv2.WARP_POLAR_LINEAR
    # A wrinkle or a mole is not hair: what is thinner than a strand is looked over.
    closed = np.asarray(cv2.morphologyEx(skin, cv2.MORPH_CLOSE, _disc(_THIN)), np.float32)
    polar = cv2.warpPolar(closed, (side, rays), (x, y), _REACH, flags)
    least = np.minimum.accumulate(polar, axis=1).astype(np.float32)
    least = np.asarray(cv2.GaussianBlur(least, (1, 49), 0.1, sigmaY=_RAY_BLUR), np.float32)
    back = cv2.warpPolar(least, (side, side), (x, y), _REACH, flags | cv2.WARP_INVERSE_MAP)
    return np.asarray(np.minimum(skin, back), np.float32)


def _beard(alike: Floats) -> Floats:
    """(1024, 1): 1 below the mouth of who has a beard: what is there is no hair of the head; else 0."""
    chin = float(np.mean([_sample(alike[..., None], index).mean() for index in _CHIN_SKIN]))
    return np.asarray(below_mouth() * smoothstep(np.array(1 - chin), *_BEARDED), np.float32)


@cache
def below_mouth() -> Floats:
    """(1024, 1): 0 above the tip of the nose, 1 below the mouth."""
    places = canonical_mesh().texels()
    rows = np.arange(TEXTURE_SIZE, dtype=np.float32)[:, None]
    return smoothstep(rows, float(places[NOSE_TIP, 1]), float(places[_MOUTH, 1]))


def _disc(size: int) -> npt.NDArray[np.uint8]:
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)), np.uint8)


def _sample(lab: Floats, vertex: int) -> Floats:
    side = len(lab)
    half = _SAMPLE_HALF * side // TEXTURE_SIZE
    x, y = np.clip(canonical_mesh().texels(side)[vertex].astype(int), half, side - half)
    return lab[y - half : y + half, x - half : x + half].reshape(-1, lab.shape[2])
