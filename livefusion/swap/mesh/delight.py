"""Takes the light of a photo out of its texture: shading, coloured lights, shadows of one side, glints.

The light is told from the mesh: nine spherical harmonics, fitted on bare skin to what each direction of the
surface shows (Ramamoorthi and Hanrahan, "An efficient representation for irradiance environment maps",
SIGGRAPH 2001). What they cannot tell, a shadow that the nose casts, is evened out between the halves of the
face. So beard, freckles and lips, which lie on both sides or are small, stay.
"""

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.bake import Rgb, View, draw_on_texture, inside_outline
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, Floats
from livefusion.swap.mesh.mask import features, smoothstep
from livefusion.swap.mesh.regions import not_bare
from livefusion.swap.mesh.shape import vertex_normals
from livefusion.swap.mesh.skin import skin_likeness

# Light is smooth: it is fitted on a smaller texture.
_SIDE = 256
_STEP = TEXTURE_SIZE // _SIDE
_GAMMA = 2.2
_ROUNDS = 8
# Blur of the normals on it: the mesh is coarse, and its nostrils are not where they seem.
_NORMAL_BLUR = 4.0
# Deviation of a texel from the fit, in nats, at which it counts half: cast shadows and beards are no shading.
_DOUBT = 0.25
# Pull of the nine coefficients towards 0, in shares of the weight: a face shows less than half a sphere.
_RIDGE = np.array([1e-9, 1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2, 1e-2, 1e-2], np.float64)
_TINT_RIDGE, _MOST_TINT = 3.0, 0.7
_LEAST_WEIGHT, _FEWEST = 0.05, 500.0
# Texels that look away or are clipped tell nothing of the light.
_FACING = (0.15, 0.4)
_CLIPPED = (240.0, 252.0)
# Least shading in shares of its mean: deeper, noise would be lifted into blotches.
_DARKEST = 0.18
_SPREAD_BLUR = 32.0
_SEEN_LIGHT = (0.03, 0.99)
# A texel in a deep shadow is taken from the other half: their ratio of light in nats, and the slope.
_LOST, _LOST_SLOPE = 1.0, 4.0
# Blur and share of what the halves differ by that is evened out.
_HALVES_BLUR, _HALVES_SHARE = 22.0, 0.9
_MOST_HALVES, _MOST_TINT_HALVES = 0.5, 0.15
# Shares of what is left of the low frequencies of both halves that stays, in L, a and b.
_KEPT, _KEPT_BLUR = (0.6, 0.45, 0.45), 80.0
# Glints: what is brighter than its surroundings by more than this in L, and broader than pores.
_GLINT, _GLINT_BLURS = 5.0, (5.0, 45.0)
_TINY = np.float32(1e-4)
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def delight(view: View) -> View:
    """The view with its light taken out, at its mean colour; ``rgb`` alone is changed."""
    skin = bare_skin(view)
    linear = np.power(view.rgb.astype(np.float32) / 255, np.float32(_GAMMA))
    light = shading_of(view, skin)
    even = np.log(linear / light + _TINY)
    even = _fill_lost(even, light)
    even -= np.float32(_HALVES_SHARE) * _difference_of_halves(even, skin)
    return replace(view, rgb=_finish(even, skin))


def shading_of(view: View, skin: Floats) -> Floats:
    """(1024, 1024, 3): the light on each texel, linear, 1 in the mean; ``skin`` says where it can be told."""
    small = (_SIDE, _SIDE)
    rgb = cv2.resize(view.rgb, small, interpolation=cv2.INTER_AREA).astype(np.float32)
    weight = skin * smoothstep(view.facing, *_FACING)
    weight = np.asarray(cv2.resize(weight, small, interpolation=cv2.INTER_AREA), np.float32)
    weight *= 1 - smoothstep(rgb.max(axis=2), *_CLIPPED)
    used = weight > _LEAST_WEIGHT
    if weight[used].sum() < _FEWEST:
        return np.ones(view.rgb.shape, np.float32)
    basis = harmonics(_normals(view.shape))
    linear = np.power(rgb / 255, _GAMMA) + _TINY
    grey = linear.mean(axis=2)
    light = _fit_brightness(basis, grey, weight, used)
    tints = [_fit_tint(basis, linear[..., channel] / grey, weight, used) for channel in range(3)]
    shaded = light[..., None] * np.stack(tints, axis=-1)
    whole = cv2.resize(shaded.astype(np.float32), (TEXTURE_SIZE, TEXTURE_SIZE))
    return _spread(np.asarray(whole, np.float32), skin)


def _spread(light: Floats, skin: Floats) -> Floats:
    """The light, (1024, 1024, 3), with that of the bare skin next to it on eyes, brows, lips and hair.

    Lids and lips have folds of their own, which the mesh does not have: their light would be guessed.
    """
    near = low_pass(light * skin[..., None], _SPREAD_BLUR)
    near /= (low_pass(skin, _SPREAD_BLUR) + _TINY)[..., None]
    known = low_pass(skin, _SPREAD_BLUR / 4)[..., None]
    return np.asarray(np.maximum(known * light + (1 - known) * near, _DARKEST), np.float32)


def harmonics(normals: npt.NDArray[np.floating]) -> Doubles:
    """(…, 9): the spherical harmonics up to the second order, without factors, of (…, 3) unit normals."""
    x, y, z = np.moveaxis(np.asarray(normals, np.float64), -1, 0)
    return np.stack([np.ones_like(x), x, y, z, x * y, y * z, x * z, x * x - y * y, 3 * z * z - 1], axis=-1)


def _fit_brightness(basis: Doubles, values: Floats, weight: Floats, used: Mask) -> Doubles:
    """The light (h, w), 1 in the mean, that explains the values (h, w) of skin of one colour."""
    rows, seen, trust = basis[used], values[used].astype(np.float64), weight[used].astype(np.float64)
    light = np.full(len(seen), float(np.average(seen, weights=trust)))
    for _ in range(_ROUNDS):
        # Errors relative to the light, and doubt in what deviates much.
        share = trust / np.square(light) / (1 + np.square(np.log(seen / light) / _DOUBT))
        coefficients = _solve(rows, seen, share)
        light = np.maximum(rows @ coefficients, 0.05 * seen.mean())
    mean = float(np.average(light, weights=trust))
    # Directions in which no bare skin was seen, as in nostrils, are not lit other than those that were.
    low, high = np.quantile(light / mean, _SEEN_LIGHT)
    return np.clip(basis @ coefficients / mean, max(low, _DARKEST), high)


def _fit_tint(basis: Doubles, ratio: Floats, weight: Floats, used: Mask) -> Doubles:
    """The light (h, w) of one channel in shares of its brightness, 1 in the mean: coloured lights differ."""
    rows, seen, trust = basis[used], np.log(ratio[used].astype(np.float64)), weight[used].astype(np.float64)
    seen -= np.average(seen, weights=trust)
    share = trust
    for _ in range(_ROUNDS // 2):
        tint = rows @ _solve(rows, seen, share, _TINT_RIDGE)
        share = trust / (1 + np.square((seen - tint) / _DOUBT))
    nats = basis @ _solve(rows, seen, share, _TINT_RIDGE)
    return np.exp(np.clip(nats, -_MOST_TINT, _MOST_TINT))


def _solve(rows: Doubles, seen: Doubles, share: Doubles, ridge: float = 1.0) -> Doubles:
    normal = rows.T @ (rows * share[:, None])
    normal += np.diag(ridge * _RIDGE) * normal[0, 0]
    return np.asarray(np.linalg.solve(normal, rows.T @ (seen * share)), np.float64)


def _normals(shape: Floats) -> Floats:
    """(256, 256, 3) unit normals of a mesh over the texture."""
    vertices = vertex_normals(shape)
    planes = [draw_on_texture(np.ascontiguousarray(vertices[:, pair])) for pair in ([0, 1], [2, 2])]
    drawn = np.dstack([planes[0], planes[1][..., :1]])
    small = np.asarray(cv2.resize(drawn, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA), np.float32)
    small = cv2.GaussianBlur(small, (0, 0), _NORMAL_BLUR).astype(np.float32)
    length = np.linalg.norm(small, axis=2, keepdims=True)
    return np.where(length > 0.1, small / (length + _TINY), np.array([0, 0, -1], np.float32)).astype(
        np.float32
    )


def bare_skin(view: View) -> Floats:
    """(1024, 1024) in [0, 1]: where a face is bare skin, in light or in shadow: no hair, eye, brow or lip.

    Within the inner face nothing is told by colour: the half in a shadow would not look like skin.
    """
    skin = np.maximum(features(), skin_likeness(view.rgb)) * (1 - not_bare())
    return np.asarray(skin * inside_outline(), np.float32)


def _fill_lost(even: Floats, light: Floats) -> Floats:
    """Take what lies in a deep shadow from the other half; ``even`` (1024, 1024, 3) in nats."""
    brightness = np.log(light.mean(axis=2))
    lost = 1 / (1 + np.exp((brightness - brightness[:, ::-1] + _LOST) * _LOST_SLOPE))
    return np.asarray(even + lost[..., None] * (even[:, ::-1] - even), np.float32)


def _difference_of_halves(even: Floats, skin: Floats) -> Floats:
    """(1024, 1024, 3): what each half is above the mean of both, in low frequencies of bare skin."""
    both = np.minimum(skin, skin[:, ::-1])[..., None] + np.float32(1e-3)
    low = low_pass(even * both, _HALVES_BLUR) / low_pass(both[..., 0], _HALVES_BLUR)[..., None]
    above = (low - low[:, ::-1]) / 2
    grey = np.clip(above.mean(axis=2, keepdims=True), -_MOST_HALVES, _MOST_HALVES)
    return np.asarray(grey + np.clip(above - grey, -_MOST_TINT_HALVES, _MOST_TINT_HALVES), np.float32)


def _finish(even: Floats, skin: Floats) -> Rgb:
    """(1024, 1024, 3) uint8 of ``even`` in nats: less of what is broad, and without glints."""
    rgb = np.power(np.clip(np.exp(even), 0, 1), np.float32(1 / _GAMMA))
    lab = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), np.float32)
    weight = (skin + np.float32(1e-3))[..., None]
    low = low_pass(lab * weight, _KEPT_BLUR) / low_pass(weight[..., 0], _KEPT_BLUR)[..., None]
    mean = lab[inside_outline()].mean(axis=0)
    lab -= (low - mean) * (1 - np.array(_KEPT, np.float32))
    fine, broad = (low_pass(lab[..., 0], blur) for blur in _GLINT_BLURS)
    glint = np.maximum(fine - broad, 0)
    lab[..., 0] -= skin * (glint - _GLINT * np.tanh(glint / _GLINT))
    even_rgb = np.asarray(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), np.float32)
    texture = np.asarray(np.clip(even_rgb * 255 + 0.5, 0, 255), np.uint8)
    texture[~inside_outline()] = texture[inside_outline()].mean(axis=0)
    return texture
