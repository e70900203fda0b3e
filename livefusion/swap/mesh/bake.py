"""From a photo to a texture: unwrapped onto the UV map, its hidden side filled."""

from dataclasses import dataclass
from functools import cache

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, VERTEX_COUNT, Floats, canonical_mesh
from livefusion.swap.mesh.shape import vertex_normals

Rgb = npt.NDArray[np.uint8]

# Blurs, in texels of a 1024 texture.
_FACING_BLUR = 12
_TONE_BLUR = 40
_LIGHT_BLUR = 80.0
_TINY = np.float32(1e-6)
# A texel is taken from the mirrored half when that half looks more towards the camera by this much.
_MIRROR_MARGIN, _MIRROR_SLOPE = 0.25, 14.0
_MIRROR_TONE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class SourcePhoto:
    """A photo of one face: ``rgb`` (h, w, 3) uint8 and its (478, 3) ``landmarks`` in pixels of the photo.

    ``merit`` above 0 is how sharp it is, relative to the other photos of the person.
    """

    rgb: Rgb
    landmarks: Landmarks
    merit: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A photo unwrapped: ``rgb`` (1024, 1024, 3) uint8; ``facing`` (1024, 1024) float32 in [0, 1], 1 where
    the skin looked straight into the camera; ``shape`` (468, 3) float32, the mesh in photo pixels; ``merit``
    above 0 says how much detail it has, by resolution and sharpness."""

    rgb: Rgb
    facing: Floats
    shape: Floats
    merit: float = 1.0


def unwrap(photo: SourcePhoto) -> View:
    """Unwrap a photo onto the UV map and fill the far side of a turned head from the near one."""
    points = photo.landmarks[:VERTEX_COUNT].astype(np.float32)
    rgb, points_on_rgb = _no_larger_than_texture(photo.rgb, points)
    texels = draw_on_texture(points_on_rgb[:, :2])
    nothing = np.empty(0, np.float32)  # the second map, which a two-channel first one replaces
    flat = np.asarray(
        cv2.remap(rgb, texels, nothing, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE), np.uint8
    )
    flat[~inside_outline()] = flat[inside_outline()].mean(axis=0)  # blurs must not drag the background in
    facing = _facing(points)
    merit = photo.merit * min(1.0, float(np.ptp(points[:, 0])) / TEXTURE_SIZE)
    return View(_fill_from_mirror(flat, facing), facing, points, merit)


def split_light(rgb: Rgb, weight: Floats) -> tuple[Floats, Floats]:
    """Detail and light of a texture, (1024, 1024, 3) float32 in CIELAB; their sum is the texture.

    Light is the lowest frequencies; ``weight`` (1024, 1024) says what it may be told from.
    """
    lab = np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    inside = (weight * inside_outline())[..., None]
    light = low_pass(lab * inside, _LIGHT_BLUR)
    light /= low_pass(inside, _LIGHT_BLUR)[..., None] + _TINY
    return lab - light, light


@cache
def inside_outline() -> npt.NDArray[np.bool_]:
    """(1024, 1024): True where the mesh covers the UV map."""
    covered: npt.NDArray[np.bool_] = draw_on_texture(np.ones((VERTEX_COUNT, 2), np.float32))[..., 0] > 0
    return covered


def draw_on_texture(values: Floats) -> Floats:
    """(1024, 1024, 2): two numbers a vertex, (468, 2), interpolated over the UV map; 0 outside the mesh."""
    from livefusion.ops.cpu.raster import raster_uv

    mesh = canonical_mesh()
    side = (TEXTURE_SIZE, TEXTURE_SIZE)
    drawn = np.zeros((*side, 2), np.float32)
    raster_uv(
        vertices=mesh.texels(),
        depth=np.zeros(VERTEX_COUNT, np.float32),
        uv=np.ascontiguousarray(values, np.float32),
        weight=np.ones(VERTEX_COUNT, np.float32),
        triangles=mesh.triangles,
        map=drawn,
        cover=np.empty(side, np.float32),
        zbuffer=np.empty(side, np.float32),
    )
    return drawn


def _no_larger_than_texture(rgb: Rgb, points: Floats) -> tuple[Rgb, Floats]:
    """A photo in which the face is at most as wide as the texture: a larger one would alias."""
    factor = TEXTURE_SIZE / float(np.ptp(points[:, 0]))
    if factor >= 1:
        return rgb, points
    size = (max(2, round(rgb.shape[1] * factor)), max(2, round(rgb.shape[0] * factor)))
    scale = np.array([size[0] / rgb.shape[1], size[1] / rgb.shape[0], factor], np.float32)
    moved = points.copy()
    moved[:, :2] += 0.5
    moved *= scale
    moved[:, :2] -= 0.5
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8), moved


def _facing(points: Floats) -> Floats:
    towards = np.clip(-vertex_normals(points)[:, 2], 0, 1)
    drawn = draw_on_texture(np.column_stack([towards, towards]))[..., 0]
    return np.clip(low_pass(drawn, _FACING_BLUR), 0, 1)


def _fill_from_mirror(flat: Rgb, facing: Floats) -> Rgb:
    """Replace what looked away from the camera by its mirror image, at the tone of its own side."""
    own = 1 / (1 + np.exp(-(facing - facing[:, ::-1] + _MIRROR_MARGIN) * _MIRROR_SLOPE))
    mirrored = flat[:, ::-1].astype(np.float32)
    tone = low_pass(flat, _TONE_BLUR)
    mirrored += _MIRROR_TONE * (tone - tone[:, ::-1])
    filled = flat * own[..., None] + mirrored * (1 - own[..., None])
    return np.asarray(np.clip(filled + 0.5, 0, 255), np.uint8)
