"""What of a texture is skin: hair that hangs into the face is cut out of the alpha."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import CHEEKS, TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.mask import features, forehead_height, smoothstep

_SAMPLE_HALF = 12
# Added to the measured spread of the skin: light varies over a face more than over a cheek.
_SPREAD_MARGIN = np.array([14, 4, 5], np.float32)
# Normalised distances from the mean skin colour: skin below the first, not skin above the second.
_SKIN, _NOT_SKIN = 1.2, 2.2
_GROW_HAIR = 15
_HAIR_MARGIN = 41
_SOFTEN_BEFORE, _SOFTEN_AFTER = 6, 18
# Height above the brows at which the cut begins and is full: brows are dark, but no hair to be cut.
_CUT_FROM, _CUT_FULL = 0.12, 0.25


def hair_cut(rgb: npt.NDArray[np.uint8]) -> Floats:
    """(1024, 1024) in [0, 1] for a texture (1024, 1024, 3) uint8: 0 where hair hangs into the face, else 1.

    The inner face is never cut. Above the brows everything beyond the first hair is cut too: a light strand
    has the colour of skin, but no skin lies beyond a fringe.
    """
    skin = skin_likeness(rgb)
    forehead = slice(0, int(np.argmax(forehead_height()[:, 0] <= _CUT_FROM)))
    skin[forehead] = np.minimum.accumulate(skin[forehead][::-1], axis=0)[::-1]
    # A wide margin: under a fringe lies its shadow, which would show as a line across the forehead.
    skin = np.asarray(cv2.erode(skin, np.ones((_HAIR_MARGIN, _HAIR_MARGIN), np.uint8)), np.float32)
    above = smoothstep(forehead_height(), _CUT_FROM, _CUT_FULL)
    cut = np.maximum(1 - features(), above) * (1 - skin)
    return low_pass(1 - cut, _SOFTEN_AFTER)


def skin_likeness(rgb: npt.NDArray[np.uint8]) -> Floats:
    """(1024, 1024) in [0, 1] for a texture (1024, 1024, 3) uint8: 1 where it has the colour of its skin.

    Skin is modelled by mean and spread of the cheeks and the bridge of the nose in Lab; what is not grows
    by a few texels, to take the hair's soft edge along.
    """
    lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
    samples = np.concatenate([_sample(lab, index) for index in CHEEKS])
    spread = samples.std(axis=0) + _SPREAD_MARGIN
    distance = np.sqrt(np.square((lab - np.median(samples, axis=0)) / spread).mean(axis=2))
    skin = cv2.GaussianBlur(1 - smoothstep(distance, _SKIN, _NOT_SKIN), (0, 0), _SOFTEN_BEFORE)
    return np.asarray(cv2.erode(skin, np.ones((_GROW_HAIR, _GROW_HAIR), np.uint8)), np.float32)


def _sample(lab: Floats, vertex: int) -> Floats:
    x, y = np.clip(canonical_mesh().texels()[vertex].astype(int), _SAMPLE_HALF, TEXTURE_SIZE - _SAMPLE_HALF)
    window = lab[y - _SAMPLE_HALF : y + _SAMPLE_HALF, x - _SAMPLE_HALF : x + _SAMPLE_HALF]
    return window.reshape(-1, 3)
