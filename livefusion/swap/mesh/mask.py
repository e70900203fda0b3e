"""Which part of a texture covers the performer: the texture's alpha, drawn once on the UV map.

The mesh spans the eyes, so a hole in the alpha follows the performer's lids by itself, and a feather needs no
blur of the live picture. The mouth is left out of the mesh (``visible``).
"""

from collections.abc import Sequence
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import (
    BROW_CRESTS,
    FEATURES,
    FOREHEAD_TOP,
    LEFT_EYE,
    OVAL,
    RIGHT_EYE,
    TEXTURE_SIZE,
    Floats,
    canonical_mesh,
)

# All lengths are shares of the texture's side, which a face fills.
# Through a wide feather the performer's jaw and cheeks show: with one of 0.11 the result is more like them by
# 0.03 to 0.06 (SFace).
_FEATHER_START, _FEATHER_WIDTH = 0.006, 0.065
_HOLE_FEATHER = 0.006
# Of the blurred eye, between which the alpha falls: the edge lies on the lashes, not outside on the lid.
_HOLE_EDGE = (0.45, 0.95)
PAINT_BORDER = 0.03
"""Width of the border in which paint fades out, from the outline inwards."""
# 0 at the brow, 1 at the top of the outline: the patch is full up to the first and gone at the second.
_FOREHEAD_FULL, _FOREHEAD_GONE = 0.30, 0.80
_SUBPIXEL_BITS = 4


def smoothstep(values: npt.NDArray[np.floating], low: float, high: float) -> Floats:
    """0 below ``low``, 1 above ``high``, with level ends between."""
    share = np.clip((values - low) / (high - low), 0, 1)
    return np.asarray(share * share * (3 - 2 * share), np.float32)


@cache
def face_mask() -> Floats:
    """(1024, 1024) in [0, 1]: ``whole_mask``, open at the eyes."""
    return np.asarray(whole_mask() * _open_eyes(), np.float32)


@cache
def whole_mask() -> Floats:
    """(1024, 1024) in [0, 1]: feathered inside the outline, fading on the forehead."""
    mask = smoothstep(_depth(), _FEATHER_START, _FEATHER_START + _FEATHER_WIDTH)
    return np.asarray(mask * forehead_fade(), np.float32)


@cache
def paint_mask() -> Floats:
    """(1024, 1024) in [0, 1]: where paint shows, up to the outline, forehead and all, open at the eyes."""
    return np.asarray(smoothstep(_depth(), 0, PAINT_BORDER) * _open_eyes(), np.float32)


@cache
def forehead_fade() -> Floats:
    """(1024, 1) in [0, 1]: 1 up to above the brows, 0 below the hairline."""
    height = forehead_height()
    return 1 - smoothstep(height, _FOREHEAD_FULL, _FOREHEAD_GONE)


@cache
def forehead_height() -> Floats:
    """(1024, 1): 0 at the height of the brows, 1 at the top of the outline, negative below the brows."""
    places = canonical_mesh().texels()
    brow = float(np.mean([places[index, 1] for index in BROW_CRESTS]))
    top = float(places[FOREHEAD_TOP, 1])
    rows = np.arange(TEXTURE_SIZE, dtype=np.float32)[:, None]
    height: Floats = (rows - brow) / (top - brow)
    return height


@cache
def features() -> Floats:
    """(1024, 1024) in [0, 1]: 1 on the inner face, softly 0 round it."""
    return soft_hull(FEATURES, 75, 15.0)


def soft_hull(vertices: Sequence[int], margin: int, blur: float) -> Floats:
    """(1024, 1024): 1 on the convex hull of vertices, grown by half of ``margin``, softly 0 round it."""
    corners = canonical_mesh().texels()[list(vertices)].astype(np.int32)
    image = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.uint8)
    cv2.fillPoly(image, [np.asarray(cv2.convexHull(corners), np.int32)], 255)
    grown = cv2.dilate(image, np.ones((margin, margin), np.uint8))
    return low_pass(grown, blur) / np.float32(255)


def _depth() -> Floats:
    """(1024, 1024): how far inside the outline a texel lies, in shares of the side; 0 outside."""
    inside = (_polygon(OVAL) > 0.5).astype(np.uint8)
    distance = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    return np.asarray(distance / TEXTURE_SIZE, np.float32)


def _open_eyes() -> Floats:
    """(1024, 1024): 0 on the eyeballs, 1 from the edge of the lids on."""
    mask = np.ones((TEXTURE_SIZE, TEXTURE_SIZE), np.float32)
    for ring in (LEFT_EYE, RIGHT_EYE):
        hole = low_pass(_polygon(ring), _HOLE_FEATHER * TEXTURE_SIZE)
        mask *= 1 - smoothstep(hole, *_HOLE_EDGE)
    return mask


def _polygon(ring: tuple[int, ...]) -> Floats:
    """(1024, 1024) in [0, 1]: 1 inside a ring of vertices, antialiased."""
    corners = np.round(canonical_mesh().texels()[list(ring)] * (1 << _SUBPIXEL_BITS)).astype(np.int32)
    image = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE), np.uint8)
    cv2.fillPoly(image, [corners], 255, cv2.LINE_AA, _SUBPIXEL_BITS)
    return np.asarray(image, np.float32) / np.float32(255)
