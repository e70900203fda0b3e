"""One texture and one shape out of many faces: delit, symmetric, and nobody's.

Work is done in CIELAB on the UV map. Skin that a face does not show (hair, the far side of a turned head) has
next to no weight; the other faces count there instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.swap.mesh.bake import SourcePhoto, View, inside_outline, split_light, unwrap, weighted_midmean
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import FEATURES, OUTER_LIPS, TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.identity import mean_shape
from livefusion.swap.mesh.mask import features, smoothstep, soft_hull
from livefusion.swap.mesh.skin import skin_likeness

Rgb = npt.NDArray[np.uint8]

_FACING = (0.10, 0.50)
_LEAST_WEIGHT = 0.01
# Share of the faces' common shading (eye sockets, sides of the nose) that is kept.
_COMMON_SHADING, _SHADING_BLUR = 0.5, 60.0
# Outside the inner face remains of hair are smoothed away: blur and bounds of L.
_SKIN_BLUR, _SKIN_BOUNDS = 9.0, (-5.0, 4.0)
# Share of colour differences that is kept except on the lips: make-up would else give blue-grey lids.
_SKIN_COLOUR = 0.2
# Share of the soft shadow round the eyes that is taken away, likewise; brows are finer than the blur.
_LID_SHADOW, _LID_BLUR = 0.25, 22.0
# A mean of many faces is flatter than any of them.
_DETAIL_GAIN = 1.3
# The photos show faces of 200 px, so nothing finer than 5 texels is real: pores are grain.
_GRAIN, _GRAIN_BLURS = 0.65, (2.2, 4.5)
_GRAIN_SEED = 1
_EYES_AND_BROWS = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300, 33, 263, 145, 374)


def compose(
    photos: Sequence[tuple[Rgb, Landmarks]], shares: Sequence[float], tone: tuple[float, float, float]
) -> tuple[Rgb, Floats]:
    """The (1024, 1024, 3) RGB texture and the (468, 3) shape of faces given as photo and landmarks.

    ``shares`` say how much each counts; ``tone`` is the mean colour of the texture in Lab.
    """
    views = [unwrap(SourcePhoto(rgb, landmarks)) for rgb, landmarks in photos]
    weights = [np.float32(share) * _weight(view) for view, share in zip(views, shares, strict=True)]
    details, shadings = zip(
        *(split_light(view.rgb, weight) for view, weight in zip(views, weights, strict=True)), strict=True
    )
    inner = features()[..., None]
    detail = _symmetric_midmean(details, weights) * np.array([_DETAIL_GAIN, 1, 1], np.float32)
    detail = inner * _without_make_up(detail) + (1 - inner) * _plain_skin(detail)
    lab = detail + np.array(tone, np.float32)
    lab[..., 0] += _common_shading(shadings, weights) + _grain()
    rgb = cv2.cvtColor(np.asarray(lab, np.float32), cv2.COLOR_LAB2RGB)
    texture = np.asarray(np.clip(rgb * 255 + 0.5, 0, 255), np.uint8)
    texture[~inside_outline()] = texture[inside_outline()].mean(axis=0)
    return texture, _symmetric_shape([view.shape for view in views])


def _weight(view: View) -> Floats:
    skin = np.maximum(features(), skin_likeness(view.rgb))
    return smoothstep(view.facing, *_FACING) * skin + np.float32(_LEAST_WEIGHT)


def _common_shading(shadings: Sequence[Floats], weights: Sequence[Floats]) -> Floats:
    """(1024, 1024) in L: a share of what eye sockets and nose do to the light on all the faces."""
    shading = _symmetric_midmean(shadings, weights)[..., 0]
    inner = soft_hull(FEATURES, 5, _SHADING_BLUR)
    shading -= shading[inner > 0.5].mean()
    return np.float32(_COMMON_SHADING) * inner * shading


def _plain_skin(detail: Floats) -> Floats:
    """Detail (1024, 1024, 3) in Lab without what hair left in it."""
    smooth = low_pass(detail, _SKIN_BLUR)
    smooth[..., 0] = np.clip(smooth[..., 0], *_SKIN_BOUNDS)
    smooth[..., 1:] *= np.float32(_SKIN_COLOUR)
    return smooth


def _without_make_up(detail: Floats) -> Floats:
    """Detail (1024, 1024, 3) in Lab with the colours of bare skin and without shadow on the lids."""
    bare = detail.copy()
    lips, eyes = soft_hull(OUTER_LIPS, 9, 5.0)[..., None], soft_hull(_EYES_AND_BROWS, 41, 15.0)
    bare[..., 1:] *= _SKIN_COLOUR + (1 - _SKIN_COLOUR) * lips
    shadow = np.minimum(low_pass(detail[..., 0], _LID_BLUR), 0)
    bare[..., 0] -= _LID_SHADOW * eyes * shadow
    return bare


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


def _symmetric_shape(shapes: Sequence[Floats]) -> Floats:
    """Mean of the shapes and their mirror images, a vertex paired with the one across the canonical face."""
    mirror = _mirror_vertices()
    flip = np.array([-1, 1, 1], np.float32)
    return mean_shape([*shapes, *(shape[mirror] * flip for shape in shapes)])


def _mirror_vertices() -> npt.NDArray[np.intp]:
    points = canonical_mesh().vertices
    flipped = points * np.array([-1, 1, 1], np.float32)
    return np.asarray(np.linalg.norm(flipped[:, None] - points[None], axis=2).argmin(axis=1), np.intp)
