"""Takes the light of a photo out of its texture: shading, coloured lights, shadows of one side, glints.

The light is told from the mesh: nine spherical harmonics, fitted on bare skin to what each direction of the
surface shows (Ramamoorthi and Hanrahan, "An efficient representation for irradiance environment maps",
SIGGRAPH 2001). What they cannot tell, a shadow that the nose casts, is evened out between the halves of the
face. So beard, freckles and lips, which lie on both sides or are small, stay. So does what a face shows on
both halves in any ordinary light: the relief of its brow, nose and cheeks is what it is known by.
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

# Light is smooth: all is done on a smaller texture, and the whole one is multiplied by what comes of it.
_SIDE = 256
_STEP = TEXTURE_SIZE // _SIDE
_GAMMA = 2.2
_ROUNDS = 8
# Every so many texels of the smaller texture are enough for a fit of nine numbers.
_SPARSE = 4
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
# Shading that both halves share stays up to about this many nats, and in each colour up to the second.
_RELIEF, _TINT_RELIEF = 0.45, 0.15
# A texel in a deep shadow is taken from the other half: their ratio of light in nats, and the slope.
_LOST, _LOST_SLOPE = 1.0, 4.0
_LEAST_LOST = 0.1
# Blur and share of what the halves differ by that is evened out.
_HALVES_BLUR, _HALVES_SHARE = 22.0, 0.9
_MOST_HALVES, _MOST_TINT_HALVES = 0.5, 0.15
# Shares of what is left of the low frequencies of both halves that stays, in L, a and b.
_KEPT, _KEPT_BLUR = (0.6, 0.45, 0.45), 80.0
# Glints: what is nearly white in the photo, brighter than its surroundings by more than this in L, and
# broader than pores. What else is bright is relief: without it, likeness falls by 0.016 (SFace).
_GLINT, _GLINT_BLURS = 8.0, (5.0, 45.0)
_WHITE = (0.88, 1.0)
_TINY = np.float32(1e-4)
_DARK = np.float32(0.02)
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def delight(view: View) -> View:
    """The view with its light taken out, at its mean colour; ``rgb`` alone is changed."""
    small = _quarter(view.rgb) / np.float32(255)
    skin = _bare_skin(small)
    light = _without_relief(_shading(view, small, skin))
    lost = _lost(light)
    even = np.log(np.power(small, np.float32(_GAMMA)) / light + _TINY)
    even += lost[..., None] * (even[:, ::-1] - even)
    even -= np.float32(_HALVES_SHARE) * _difference_of_halves(even, skin)
    wanted = _finish(even, skin, smoothstep(small.max(axis=2), *_WHITE))
    return replace(view, rgb=_multiplied(view.rgb, small, light, lost, wanted))


def shading_of(view: View) -> Floats:
    """(1024, 1024, 3): the light on each texel, linear, 1 in the mean."""
    small = _quarter(view.rgb) / np.float32(255)
    return _whole(_shading(view, small, _bare_skin(small)))


def bare_skin(view: View) -> Floats:
    """(1024, 1024) in [0, 1]: where a face is bare skin, in light or in shadow: no hair, eye, brow or lip.

    Within the inner face nothing is told by colour: the half in a shadow would not look like skin.
    """
    return _whole(_bare_skin(_quarter(view.rgb) / np.float32(255)))


def harmonics(normals: npt.NDArray[np.floating]) -> Doubles:
    """(…, 9): the spherical harmonics up to the second order, without factors, of (…, 3) unit normals."""
    x, y, z = np.moveaxis(np.asarray(normals, np.float64), -1, 0)
    return np.stack([np.ones_like(x), x, y, z, x * y, y * z, x * z, x * x - y * y, 3 * z * z - 1], axis=-1)


def _bare_skin(small: Floats) -> Floats:
    alike = skin_likeness(np.asarray(small * 255 + np.float32(0.5), np.uint8))
    skin = np.maximum(_quarter(features()), alike) * (1 - _quarter(not_bare()))
    return np.asarray(skin * _quarter(inside_outline().astype(np.float32)), np.float32)


def _shading(view: View, small: Floats, skin: Floats) -> Floats:
    """(256, 256, 3): the light on each texel, linear, 1 in the mean; ``skin`` says where it can be told."""
    weight = skin * smoothstep(_quarter(view.facing), *_FACING)
    weight *= 1 - smoothstep(small.max(axis=2) * 255, *_CLIPPED)
    sparse = np.zeros(weight.shape, np.bool_)
    sparse[::_SPARSE, ::_SPARSE] = True
    used = (weight > _LEAST_WEIGHT) & sparse
    if weight[used].sum() < _FEWEST / _SPARSE**2:
        return np.ones(small.shape, np.float32)
    basis = harmonics(_normals(view.shape))
    linear = np.power(small, np.float32(_GAMMA)) + _TINY
    grey = linear.mean(axis=2)
    light = _fit_brightness(basis, grey, weight, used)
    tints = [_fit_tint(basis, linear[..., channel] / grey, weight, used) for channel in range(3)]
    return _spread(np.asarray(light[..., None] * np.stack(tints, axis=-1), np.float32), skin)


def _spread(light: Floats, skin: Floats) -> Floats:
    """The light, (256, 256, 3), with that of the bare skin next to it on eyes, brows, lips and hair.

    Lids and lips have folds of their own, which the mesh does not have: their light would be guessed.
    """
    blur = _SPREAD_BLUR / _STEP
    near = low_pass(light * skin[..., None], blur)
    near /= (low_pass(skin, blur) + _TINY)[..., None]
    known = low_pass(skin, blur / 4)[..., None]
    return np.asarray(np.maximum(known * light + (1 - known) * near, _DARKEST), np.float32)


def _without_relief(light: Floats) -> Floats:
    """The light, (256, 256, 3), less what both halves have of it in any ordinary light.

    A lamp in front shades what a face is known by: nose, brow and cheeks. Without that, likeness falls by
    0.03 (SFace). Of a lamp from above or below, which shades more, the rest goes; of one from aside, all.
    """
    nats = np.log(light)
    grey = nats.mean(axis=2, keepdims=True)
    parts = []
    for part, most in ((grey, _RELIEF), (nats - grey, _TINT_RELIEF)):
        both = (part + part[:, ::-1]) / 2
        parts.append(part - np.float32(most) * np.tanh(both / np.float32(most)))
    return np.asarray(np.exp(parts[0] + parts[1]), np.float32)


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
    drawn = np.dstack([_quarter(planes[0]), _quarter(planes[1][..., 0])])
    drawn = cv2.GaussianBlur(drawn, (0, 0), _NORMAL_BLUR).astype(np.float32)
    length = np.linalg.norm(drawn, axis=2, keepdims=True)
    away = np.array([0, 0, -1], np.float32)
    return np.asarray(np.where(length > 0.1, drawn / (length + _TINY), away), np.float32)


def _lost(light: Floats) -> Floats:
    """(256, 256) in [0, 1]: what lies in a deep shadow, and is to be taken from the other half."""
    brightness = np.log(light.mean(axis=2))
    lost = 1 / (1 + np.exp((brightness - brightness[:, ::-1] + _LOST) * _LOST_SLOPE))
    return np.asarray(lost, np.float32)


def _difference_of_halves(even: Floats, skin: Floats) -> Floats:
    """(256, 256, 3): what each half is above the mean of both, in low frequencies of bare skin."""
    blur = _HALVES_BLUR / _STEP
    both = np.minimum(skin, skin[:, ::-1])[..., None] + np.float32(1e-3)
    low = low_pass(even * both, blur) / low_pass(both[..., 0], blur)[..., None]
    above = (low - low[:, ::-1]) / 2
    grey = np.clip(above.mean(axis=2, keepdims=True), -_MOST_HALVES, _MOST_HALVES)
    return np.asarray(grey + np.clip(above - grey, -_MOST_TINT_HALVES, _MOST_TINT_HALVES), np.float32)


def _finish(even: Floats, skin: Floats, white: Floats) -> Floats:
    """(256, 256, 3) in [0, 1] of ``even`` in nats: less of what is broad, and without glints on ``white``."""
    rgb = np.power(np.clip(np.exp(even), 0, 1), np.float32(1 / _GAMMA))
    lab = np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), np.float32)
    weight = (skin + np.float32(1e-3))[..., None]
    blur = _KEPT_BLUR / _STEP
    low = low_pass(lab * weight, blur) / low_pass(weight[..., 0], blur)[..., None]
    mean = lab[_quarter(inside_outline().astype(np.float32)) > 0.5].mean(axis=0)
    lab -= (low - mean) * (1 - np.array(_KEPT, np.float32))
    fine, broad = (low_pass(lab[..., 0], blur / _STEP) for blur in _GLINT_BLURS)
    glint = np.maximum(fine - broad, 0)
    lab[..., 0] -= skin * white * (glint - _GLINT * np.tanh(glint / _GLINT))
    return np.asarray(np.clip(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), 0, 1), np.float32)


def _multiplied(rgb: Rgb, small: Floats, light: Floats, lost: Floats, wanted: Floats) -> Rgb:
    """The whole texture brought to what is wanted of its quarter; its finest detail is kept."""
    even = small / np.power(light, np.float32(1 / _GAMMA))
    taken = even + lost[..., None] * (even[:, ::-1] - even)
    gain = (wanted + _DARK) / (taken + _DARK)
    if lost.max() < _LEAST_LOST:
        texture = rgb * _whole(gain / np.power(light, np.float32(1 / _GAMMA)))
    else:
        texture = rgb * _whole(np.power(light, np.float32(-1 / _GAMMA)))
        texture += _whole(lost)[..., None] * (texture[:, ::-1] - texture)
        texture *= _whole(gain)
    whole = cv2.convertScaleAbs(texture)
    whole[~inside_outline()] = whole[inside_outline()].mean(axis=0)
    return np.asarray(whole, np.uint8)


def _quarter(values: npt.NDArray[np.uint8] | Floats) -> Floats:
    side = (_SIDE, _SIDE)
    return np.asarray(cv2.resize(values, side, interpolation=cv2.INTER_AREA), np.float32)


def _whole(values: npt.NDArray[np.floating]) -> Floats:
    return np.asarray(cv2.resize(values, (TEXTURE_SIZE, TEXTURE_SIZE)), np.float32)
