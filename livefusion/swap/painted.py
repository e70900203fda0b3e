"""From a painting to an identity: paint, a mask or cartoon skin on the performer's own face, and nobody's."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.errors import IdentityError
from livefusion.core.face import Identity
from livefusion.core.settings import SwapSettings
from livefusion.swap.mesh.bake import inside_outline
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, canonical_mesh
from livefusion.swap.mesh.mask import paint_mask

SMALLEST = 128
"""Least side of a painting in pixels: a smaller one is a blur on any face."""
PAINT_SETTINGS = {"shape": 0.0, "match_colour": False, "relight": 0.25}
"""What a painted face has unless it is set otherwise: the performer's shape, and the colours of the paint."""

# Alpha from which a texel's own colour is used: below it, the colour of the paint next to it.
_FIRM = 0.5
_BLEEDS = (4.0, 16.0, 64.0)
_LEAST = 1 / 255


def painted_identity(name: str, rgba: npt.NDArray[np.uint8]) -> Identity:
    """The identity of a painting (side, side, 4) uint8 RGBA with straight alpha, laid out like the template.

    Eyes and mouth stay open whatever is painted there. ``IdentityError`` if it is not square, too small, or
    shows no paint.
    """
    height, width = rgba.shape[:2]
    if width != height:
        raise IdentityError(
            f"{name} is {width} × {height} pixels", "a painted face is square, like its template"
        )
    if width < SMALLEST:
        raise IdentityError(f"{name} is only {width} pixels wide", f"use {SMALLEST} or more, best 1024")
    colour, alpha = _fit(rgba)
    shown = alpha * paint_mask()
    if shown.max() < _LEAST:
        raise IdentityError(
            f"nothing is painted on the face in {name}", "paint inside the outline of the template"
        )
    texture = np.dstack([_bleed(colour, alpha), shown])
    face = inside_outline() & (paint_mask() > _FIRM)
    return Identity(
        name,
        name,
        np.asarray(np.clip(texture * 255 + 0.5, 0, 255), np.uint8),
        canonical_mesh().vertices.astype(np.float32),
        painted=True,
        coverage=float(shown[face].mean()),
    )


def swap_settings(identity: Identity, settings: SwapSettings) -> SwapSettings:
    """The settings for an identity: for a painted one, ``PAINT_SETTINGS`` in place of what was not set."""
    if not identity.painted:
        return settings
    unset = {key: value for key, value in PAINT_SETTINGS.items() if key not in settings.model_fields_set}
    return settings.model_copy(update=unset)


def _fit(rgba: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Colour (1024, 1024, 3) and alpha (1024, 1024) in [0, 1]; scaled with weights by alpha."""
    values = rgba.astype(np.float32) / 255
    values[..., :3] *= values[..., 3:]
    if rgba.shape[0] != TEXTURE_SIZE:
        smaller = rgba.shape[0] > TEXTURE_SIZE
        values = cv2.resize(
            values,
            (TEXTURE_SIZE, TEXTURE_SIZE),
            interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR,
        ).astype(np.float32)
    alpha = values[..., 3]
    colour = values[..., :3] / np.maximum(alpha, _LEAST)[..., None]
    return np.asarray(colour, np.float32), np.asarray(alpha, np.float32)


def _bleed(colour: npt.NDArray[np.float32], alpha: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Colours (1024, 1024, 3) that go on beyond the paint: its edge would else be drawn towards black."""
    filled = colour * (alpha >= _LEAST)[..., None]
    known = alpha.copy()
    for blur in _BLEEDS:
        weight = low_pass(known, blur)
        near = low_pass(filled * known[..., None], blur) / np.maximum(weight, 1e-6)[..., None]
        unsure = np.clip(1 - known / _FIRM, 0, 1)[..., None]
        filled = filled * (1 - unsure) + near * unsure
        known = np.maximum(known, np.clip(weight * 8, 0, 1))
    return np.asarray(filled, np.float32)
