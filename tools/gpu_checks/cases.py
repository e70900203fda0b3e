"""Arguments for every operator at the size of a live picture, with a face a third as high as the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine, Region
from livefusion.ops import registry
from livefusion.ops.reference.colour import CELL
from livefusion.ops.registry import OperatorSpec

Arguments = dict[str, Any]
SIZES = {"720p": (1280, 720), "1080p": (1920, 1080), "2160p": (3840, 2160)}
_GRID = 22
"""Vertices along a side of the mesh: 484 of them and 882 triangles, as many as a face has."""


@dataclass(frozen=True, slots=True)
class Case:
    """An operator, its arguments at a size, and how far the GPU may be from NumPy.

    A share of ``outliers`` may be farther: pixels on an edge fall to either side.
    """

    name: str
    operator: OperatorSpec
    make: Callable[[int, int, np.random.Generator], Arguments]
    tolerance: float
    outliers: float = 0.0


def picture(width: int, height: int, rng: np.random.Generator) -> Arguments:
    """``luma`` and ``chroma`` of noise."""
    return {
        "luma": rng.integers(0, 256, (height, width), np.uint8),
        "chroma": rng.integers(0, 256, (height // 2, width // 2, 2), np.uint8),
    }


def patch(height: int, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """A square patch with soft, round alpha for a picture of that height."""
    side = face_side(height)
    pixels = rng.integers(60, 200, (side, side, 4), np.uint8)
    y, x = np.mgrid[0:side, 0:side] / side - 0.5
    pixels[..., 3] = np.clip((0.5 - np.hypot(x, y)) * 1000, 0, 255)
    return pixels


def face_side(height: int) -> int:
    """Even side of the face's patch."""
    return height // 3 & ~1


def at_face(width: int, height: int) -> dict[str, int]:
    """Even place of the face's patch."""
    side = face_side(height)
    return {"x": (width - side) // 4 * 2, "y": (height - side) // 4 * 2}


def _warp(faces: int, dtype: type, crop: int) -> Callable[[int, int, np.random.Generator], Arguments]:
    def make(width: int, height: int, rng: np.random.Generator) -> Arguments:
        scale = crop / face_side(height)
        middle = (crop / 2, crop / 2)
        maps = [
            Affine.similarity(scale, 0.2 * i, (width * (i + 1) / (faces + 1), height / 2), middle)
            for i in range(faces)
        ]
        return picture(width, height, rng) | {
            "out": np.zeros((faces, 3, crop, crop), dtype),
            "matrices": maps,
            "color": ColorInfo(),
            "scale": 1 / 255,
        }

    return make


def _letterbox(width: int, height: int, rng: np.random.Generator) -> Arguments:
    out = np.zeros((3, 192, 320), np.float32)
    return picture(width, height, rng) | {"out": out, "color": ColorInfo()}


def _to_rgb(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return picture(width, height, rng) | {
        "rgb": np.zeros((height, width, 3), np.uint8),
        "color": ColorInfo(),
    }


def _from_rgb(width: int, height: int, rng: np.random.Generator) -> Arguments:
    rgb = rng.integers(0, 256, (height, width, 3), np.uint8)
    return picture(width, height, rng) | {"rgb": rgb, "color": ColorInfo()}


def _scale(width: int, height: int, rng: np.random.Generator) -> Arguments:
    small = picture(width // 2 & ~1, height // 2 & ~1, rng)
    out = {"out_luma": small["luma"], "out_chroma": small["chroma"]}
    region = Region(0, 0, small["luma"].shape[1], small["luma"].shape[0])
    return picture(width, height, rng) | out | {"region": region}


def _turn(width: int, height: int, rng: np.random.Generator) -> Arguments:
    turned = picture(height, width, rng)
    out = {"out_luma": turned["luma"], "out_chroma": turned["chroma"]}
    return picture(width, height, rng) | out | {"transpose": True, "mirror_x": True}


def _blend(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return picture(width, height, rng) | {"patch": patch(height, rng)} | at_face(width, height)


def _region(width: int, height: int, rng: np.random.Generator) -> Arguments:
    side = face_side(height)
    box = {"width": side, "height": side}
    return picture(width, height, rng) | at_face(width, height) | box


def _mix(width: int, height: int, rng: np.random.Generator) -> Arguments:
    del width
    side, box = height // 2, height // 4
    base = rng.integers(0, 256, (side, side, 4), np.uint8)
    deltas = rng.integers(-128, 128, (2 * box, box, 4)).astype(np.int8)
    out = {"out": base.copy(), "x": 5, "y": 9}
    return {"base": base, "deltas": deltas, "weights": (0.7, 0.4)} | out


def _blur(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return _region(width, height, rng) | {"feather": 8}


def _fill(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return _region(width, height, rng) | {"yuv": (16, 128, 128)}


def _add(width: int, height: int, rng: np.random.Generator) -> Arguments:
    delta = rng.integers(-32, 33, (height, width)).astype(np.int8)
    gains = rng.integers(8, 17, (16, 16)).astype(np.uint8)
    return {"luma": picture(width, height, rng)["luma"], "delta": delta, "gains": gains}


def mesh(height: int, rng: np.random.Generator) -> Arguments:
    """A shaken grid of triangles over the face's patch, and its texture."""
    side = face_side(height)
    y, x = np.mgrid[0:_GRID, 0:_GRID].astype(np.float64) * (side / (_GRID - 1))
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    cells = [row * _GRID + column for row in range(_GRID - 1) for column in range(_GRID - 1)]
    corners = [t for i in cells for t in ((i, i + 1, i + _GRID), (i + 1, i + _GRID + 1, i + _GRID))]
    count = _GRID * _GRID
    return {
        "vertices": (points + rng.normal(0, side / 200, points.shape)).astype(np.float32),
        "depth": rng.normal(0, 5, count).astype(np.float32),
        "uv": (points / side * 500 + 6).astype(np.float32),
        "weight": rng.uniform(0.5, 1, count).astype(np.float32),
        "triangles": np.array(corners, np.int32),
        "texture": rng.integers(0, 256, (512, 512, 4), np.uint8),
    }


def _draw(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return mesh(height, rng) | {"patch": patch(height, rng)}


def grids(height: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Shapes of ``cells`` and ``light`` for the face's patch."""
    cells = -(-face_side(height) // CELL)
    return (cells, cells, 7), (cells, cells, 3)


def _stats(width: int, height: int, rng: np.random.Generator) -> Arguments:
    state = {"stats": np.full((3, 4), 100, np.float32), "cells": np.zeros(grids(height)[0], np.float32)}
    return _blend(width, height, rng) | state | {"momentum": 0.85}


def _light(width: int, height: int, rng: np.random.Generator) -> Arguments:
    arguments = _stats(width, height, rng)
    registry.COLOUR_STATS.body("reference")(**arguments)
    light = np.zeros(grids(height)[1], np.float32)
    radius = max(1, face_side(height) // 60)
    shares = {"radius": radius, "rim_radius": radius // 4, "relight": 0.8, "rim": 1.0}
    return shares | {"cells": arguments["cells"], "stats": arguments["stats"], "light": light}


def _matched(width: int, height: int, rng: np.random.Generator) -> Arguments:
    light = rng.uniform(-40, 40, grids(height)[1]).astype(np.float32)
    stats = np.array([[100, 20, 120, 30]] * 3, np.float32)
    colours = {"stats": stats, "light": light, "strength": 0.8, "opacity": 0.7}
    colours |= {"detail": detail(), "grain": 1.0, "seed": 5}
    return _blend(width, height, rng) | colours


def detail() -> np.ndarray[Any, Any]:
    """A patch that lacks blur and grain."""
    return np.array([[0] * 6, [0] * 6, [1.2, 4, 2, 0, 0, 0]], np.float32)


def _measure_detail(width: int, height: int, rng: np.random.Generator) -> Arguments:
    momenta = {"step": 2, "momentum": 0.7, "noise_momentum": 0.9}
    arguments = _blend(width, height, rng) | momenta | {"detail": detail()}
    del arguments["chroma"]
    return arguments


def _soften(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return {"patch": patch(height, rng), "detail": detail()}


def _feather(width: int, height: int, rng: np.random.Generator) -> Arguments:
    return {"patch": patch(height, rng), "radius": 6}


_CROP = 128
"""Side of the crop in which what is in front of a face is looked for."""


def _to_crop(height: int) -> Affine:
    side = face_side(height)
    return Affine.similarity(_CROP / side, 0.1, (side / 2, side / 2), (_CROP / 2, _CROP / 2))


def _cover(rng: np.random.Generator) -> Arguments:
    y, x = np.mgrid[0:_CROP, 0:_CROP]
    blobs = 128 + 190 * np.sin(x / 20 + y / 36) + rng.integers(-20, 21, (_CROP, _CROP))
    return {"cover": np.clip(blobs, 0, 255).astype(np.uint8), "share": np.full(1, 0.3, np.float32)}


def _matte(width: int, height: int, rng: np.random.Generator) -> Arguments:
    edge = np.linspace(-3, 4, _CROP, dtype=np.float32)
    found = np.clip(np.tile(edge, (_CROP, 1)) + rng.normal(0, 0.1, (_CROP, _CROP)), 0, 1)
    image = rng.uniform(0, 1, (3, _CROP, _CROP)).astype(np.float32)
    return {"found": found.astype(np.float32), "image": image, "matte": np.zeros_like(found, np.float32)}


def _track_occlusion(width: int, height: int, rng: np.random.Generator) -> Arguments:
    found, belief = rng.uniform(0, 1, (2, _CROP, _CROP)).astype(np.float32)
    speed = {"rise": 0.7, "fall": 0.4, "band": 0.1}
    place = {"patch": patch(height, rng), "to_crop": _to_crop(height)}
    rows = np.arange(_CROP)
    outline = np.column_stack([rows, np.full(_CROP, 9), np.full(_CROP, _CROP - 12)]).astype(np.uint8)
    return place | {"found": found, "belief": belief, "outline": outline} | _cover(rng) | speed


def _occlude(width: int, height: int, rng: np.random.Generator) -> Arguments:
    place = {"patch": patch(height, rng), "to_crop": _to_crop(height)}
    return place | _cover(rng) | {"most": 0.5}


CASES = [
    Case("nv12_warp_norm 256 f32", registry.NV12_WARP_NORM, _warp(1, np.float32, 256), 0.001),
    Case("nv12_warp_norm 128 f16", registry.NV12_WARP_NORM, _warp(1, np.float16, 128), 0.001),
    Case("nv12_warp_norm 256 f32, 8 faces", registry.NV12_WARP_NORM, _warp(8, np.float32, 256), 0.001),
    Case("letterbox_nv12", registry.LETTERBOX_NV12, _letterbox, 0.05),
    Case("scale_nv12", registry.SCALE_NV12, _scale, 1),
    Case("turn_nv12", registry.TURN_NV12, _turn, 0),
    Case("nv12_to_rgb", registry.NV12_TO_RGB, _to_rgb, 1),
    Case("rgb_to_nv12", registry.RGB_TO_NV12, _from_rgb, 1),
    Case("blend_yuva", registry.BLEND_YUVA, _blend, 0),
    Case("blur_region", registry.BLUR_REGION, _blur, 1),
    Case("fill_region", registry.FILL_REGION, _fill, 0),
    Case("add_plane", registry.ADD_PLANE, _add, 0),
    Case("draw_mesh", registry.DRAW_MESH, _draw, 1, outliers=0.004),
    Case("colour_stats", registry.COLOUR_STATS, _stats, 0.05),
    Case("light_field", registry.LIGHT_FIELD, _light, 0.02),
    Case("blend_matched", registry.BLEND_MATCHED, _matched, 1),
    Case("mix_texels", registry.MIX_TEXELS, _mix, 0),
    Case("occlusion_matte", registry.OCCLUSION_MATTE, _matte, 1e-3),
    # A belief half-way between two levels of cover may be rounded to either.
    Case("occlusion_track", registry.OCCLUSION_TRACK, _track_occlusion, 1e-3, outliers=0.01),
    Case("occlude", registry.OCCLUDE, _occlude, 2),
    Case("measure_detail", registry.MEASURE_DETAIL, _measure_detail, 0.5),
    Case("soften_patch", registry.SOFTEN_PATCH, _soften, 0),
    Case("mask_feather", registry.MASK_FEATHER, _feather, 0),
]
