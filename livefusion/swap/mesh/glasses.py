"""Takes the rims of glasses out of a texture: they would be put on as dark rings, and move with the skin."""

from dataclasses import replace
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.bake import Rgb, View
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, TEXTURE_SIZE, Floats, canonical_mesh

Mask = npt.NDArray[np.bool_]

# Work is done at half size: rims are broad, and filling is slow.
_SIDE = TEXTURE_SIZE // 2
# Rims are thinner than the first, and at the bridge of the nose, where nothing else is, darker by the second.
# Elsewhere they hang together with it, and are of its depth and shade.
_THIN, _BRIDGE_DARKER = 35, 20.0
_RIM_DEPTH, _RIM_SHADE = 0.4, 0.6
_BRIDGE_HALF, _BRIDGE_SHARE, _MOST_SKEW = 12, 0.9, 2.5
# The bridge lies between the first two; rims reach down to the third. Above it are brows.
_BETWEEN_BROWS, _MIDDLE_OF_NOSE, _CHEEK = 8, 5, 50
_EYE_MARGIN, _BROW_MARGIN, _GROWN = 9, 15, 9
_FILL_RADIUS, _SOFTEN = 5.0, 3.0
_BROWS = ((70, 63, 105, 66, 107, 55, 65, 52, 53, 46), (300, 293, 334, 296, 336, 285, 295, 282, 283, 276))


def without_glasses(view: View) -> View:
    """The view with the rims of glasses filled from the skin next to them; itself where there are none."""
    rims = find_rims(view.rgb)
    if not rims.any():
        return view
    small = cv2.resize(view.rgb, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    filled = cv2.inpaint(small, rims.astype(np.uint8), _FILL_RADIUS, cv2.INPAINT_TELEA)
    whole = cv2.resize(filled, (TEXTURE_SIZE, TEXTURE_SIZE), interpolation=cv2.INTER_CUBIC)
    share = cv2.resize(rims.astype(np.float32), (TEXTURE_SIZE, TEXTURE_SIZE))
    share = low_pass(np.minimum(2 * share, 1), _SOFTEN)[..., None]
    mended = view.rgb + share * (whole.astype(np.float32) - view.rgb)
    return replace(view, rgb=np.asarray(np.clip(mended + 0.5, 0, 255), np.uint8))


def find_rims(rgb: Rgb) -> Mask:
    """(512, 512): where a texture (1024, 1024, 3) shows rims of glasses, none unless they cross the nose.

    Lashes, folds and shadows are dark and thin too, but no line runs straight over the bridge of a nose.
    """
    grey = cv2.cvtColor(cv2.resize(rgb, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), cv2.COLOR_RGB2GRAY)
    thin = cv2.morphologyEx(grey, cv2.MORPH_BLACKHAT, _disc(_THIN)).astype(np.float32)
    bridge = _bridge(thin)
    if not bridge.any():
        return bridge
    depth, shade = float(np.median(thin[bridge])), float(np.median(grey[bridge]))
    alike = (thin > _RIM_DEPTH * depth) & (np.abs(grey - np.float32(shade)) < _RIM_SHADE * depth)
    dark = (alike & _zone()) | bridge
    _, parts = cv2.connectedComponents(dark.astype(np.uint8), connectivity=8)
    rims = np.isin(parts, np.unique(parts[bridge]))
    grown = cv2.dilate(rims.astype(np.uint8), _disc(_GROWN)) > 0
    return np.asarray(grown & (_zone() | bridge), np.bool_)


def _bridge(thin: Floats) -> Mask:
    """The dark line over the bridge of the nose, if one crosses it from side to side."""
    places = canonical_mesh().texels(_SIDE)
    middle = round(float(places[_BETWEEN_BROWS, 0]))
    columns = slice(middle - _BRIDGE_HALF, middle + _BRIDGE_HALF + 1)
    rows = slice(round(float(places[_BETWEEN_BROWS, 1])), round(float(places[_MIDDLE_OF_NOSE, 1])))
    window = thin[rows, columns]
    crossed = window.max(axis=0) > _BRIDGE_DARKER
    weight = np.square(np.maximum(window - _BRIDGE_DARKER / 2, 0)) + 1e-6
    heights = (weight * np.arange(len(window))[:, None]).sum(axis=0) / weight.sum(axis=0)
    steps = np.abs(np.diff(heights))
    line = np.zeros(thin.shape, np.bool_)
    if crossed.mean() >= _BRIDGE_SHARE and np.mean(steps <= _MOST_SKEW) >= _BRIDGE_SHARE:
        near = np.abs(np.arange(len(window))[:, None] - heights) < _THIN / 2
        line[rows, columns] = near & (window > window.max(axis=0) / 2)
    return line


@cache
def _zone() -> Mask:
    """(512, 512): where rims lie: round the eyes and out to the ears, but not on eyes and brows."""
    places = canonical_mesh().texels(_SIDE)
    zone = np.zeros((_SIDE, _SIDE), np.uint8)
    top = round(float(min(places[index, 1] for brow in _BROWS for index in brow)))
    zone[top - _BROW_MARGIN : round(float(places[_CHEEK, 1]))] = 1
    for rings, margin in (((RIGHT_EYE, LEFT_EYE), _EYE_MARGIN), (_BROWS, _BROW_MARGIN)):
        covered = np.zeros_like(zone)
        for ring in rings:
            cv2.fillPoly(covered, [places[list(ring)].astype(np.int32)], 1)
        zone[cv2.dilate(covered, _disc(margin)) > 0] = 0
    return zone > 0


def _disc(size: int) -> npt.NDArray[np.uint8]:
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)), np.uint8)
