"""Cases of the operators that draw the new face and colour it like the scene."""

from functools import partial

import numpy as np
from op_case import Arguments, Case, Masks, picture

from livefusion.ops.registry import BLEND_MATCHED, COLOUR_STATS, DRAW_MESH, LIGHT_FIELD

HEIGHT, WIDTH, CELLS = 38, 54, (5, 7)


def _mesh(rng: np.random.Generator, jitter: float, shift: float = 0) -> Arguments:
    """A 6 × 6 grid of vertices over a 60 × 44 patch, shaken so that triangles overlap and turn over."""
    y, x = np.mgrid[0:6, 0:6]
    grid = np.stack([x.ravel() * 12.0 - 2, y.ravel() * 9.0 - 3], axis=1) + shift
    cells = [row * 6 + column for row in range(5) for column in range(5)]
    triangles = [corners for i in cells for corners in ((i, i + 1, i + 6), (i + 1, i + 7, i + 6))]
    return {
        "vertices": (grid + rng.normal(0, jitter, grid.shape)).astype(np.float32),
        "depth": rng.normal(0, 5, 36).astype(np.float32),
        "uv": rng.uniform(-2, 66, (36, 2)).astype(np.float32),
        "weight": rng.uniform(0, 1, 36).astype(np.float32),
        "triangles": np.array(triangles, np.int32),
    }


def _draw(rng: np.random.Generator, jitter: float, shift: float = 0) -> Arguments:
    return _mesh(rng, jitter, shift) | {
        "texture": rng.integers(0, 256, (64, 64, 4), np.uint8),
        "patch": rng.integers(0, 256, (44, 60, 4), np.uint8),
    }


def _patch(rng: np.random.Generator) -> np.ndarray:
    """A patch whose alpha is a disc with soft edges."""
    patch = rng.integers(60, 200, (HEIGHT, WIDTH, 4), np.uint8)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    away = np.hypot((x - WIDTH / 2) / WIDTH, (y - HEIGHT / 2) / HEIGHT)
    patch[..., 3] = np.clip((0.5 - away) * 1000, 0, 255)
    return patch


def _stats(rng: np.random.Generator) -> np.ndarray:
    """Means and deviations of patch and frame that are plausible for skin."""
    mean, deviation = rng.uniform(90, 160, (3, 2)), rng.uniform(5, 40, (3, 2))
    return np.stack([mean[:, 0], deviation[:, 0], mean[:, 1], deviation[:, 1]], axis=1).astype(np.float32)


def _measured(rng: np.random.Generator, momentum: float, x: int, y: int) -> Arguments:
    return picture(rng, 120, 80) | {
        "patch": _patch(rng),
        "x": x,
        "y": y,
        "momentum": momentum,
        "stats": _stats(rng),
        "cells": np.zeros((*CELLS, 7), np.float32),
    }


def _cells(rng: np.random.Generator) -> np.ndarray:
    arguments = _measured(rng, 0.0, 22, 14)
    COLOUR_STATS.body("reference")(**arguments)
    cells: np.ndarray = arguments["cells"]
    return cells


def _light(
    rng: np.random.Generator, radius: int, rim_radius: int = 0, rim: float = 1.0, relight: float = 0.8
) -> Arguments:
    shares = {"radius": radius, "rim_radius": rim_radius, "relight": relight, "rim": rim}
    light = np.zeros((*CELLS, 3), np.float32)
    return shares | {"cells": _cells(rng), "stats": _stats(rng), "light": light}


def _matched(
    rng: np.random.Generator,
    *,
    strength: float = 0.8,
    opacity: float = 1.0,
    grain: float = 0.0,
    x: int = 22,
    y: int = 14,
) -> Arguments:
    return picture(rng, 120, 80) | {
        "patch": _patch(rng),
        "stats": _stats(rng),
        "light": rng.uniform(-40, 40, (*CELLS, 3)).astype(np.float32),
        "detail": np.array([[0] * 6, [0] * 6, [0.9, 4.0, 2.5, 0, 0, 0]], np.float32),
        "strength": strength,
        "opacity": opacity,
        "grain": grain,
        "seed": 0xFFFFFF01,
        "x": x,
        "y": y,
    }


def _unmatched(rng: np.random.Generator) -> Arguments:
    """Statistics and light that change no colour."""
    return _matched(rng, strength=0.0) | {"stats": np.zeros((3, 4), np.float32)}


def _shown(arguments: Arguments) -> Masks:
    """The elements of ``luma`` and ``chroma`` under a pixel that shows."""
    luma = arguments["luma"]
    # Farther out there is no more to see than right beside the picture.
    x, y = min(max(arguments["x"], -WIDTH), luma.shape[1]), min(max(arguments["y"], -HEIGHT), luma.shape[0])
    shows = arguments["patch"][..., 3] * arguments["opacity"] >= 0.5
    mask = np.zeros((luma.shape[0] + 2 * HEIGHT, luma.shape[1] + 2 * WIDTH), bool)
    mask[y + HEIGHT : y + 2 * HEIGHT, x + WIDTH : x + 2 * WIDTH] = shows
    mask = mask[HEIGHT:-HEIGHT, WIDTH:-WIDTH]
    blocks = mask.reshape(luma.shape[0] // 2, 2, luma.shape[1] // 2, 2).any(axis=(1, 3))
    return {"luma": mask, "chroma": np.stack([blocks, blocks], axis=-1)}


PLACES = {"top-left": (-24, -16), "bottom-right": (80, 60), "beside": (120, 10), "away": (300, -200)}

CASES = [
    # A pixel centre that lies on an edge of a triangle may fall to either side of it.
    *(
        Case(f"jitter {jitter}", DRAW_MESH, partial(_draw, jitter=jitter), 1, outliers=0.004)
        for jitter in (0.0, 1.5, 8.0)
    ),
    Case("out of sight", DRAW_MESH, partial(_draw, jitter=1.5, shift=500)),
    Case("half out of sight", DRAW_MESH, partial(_draw, jitter=1.5, shift=-25), 1, outliers=0.004),
    *(
        Case(f"momentum {momentum}", COLOUR_STATS, partial(_measured, momentum=momentum, x=22, y=14), 0.02)
        for momentum in (0.0, 0.85)
    ),
    Case("in the corner", COLOUR_STATS, partial(_measured, momentum=0.0, x=66, y=42), 0.02),
    *(
        Case(f"radius {r} and {n}", LIGHT_FIELD, partial(_light, radius=r, rim_radius=n), 0.01)
        for r, n in ((1, 0), (9, 2))
    ),
    Case("no rim", LIGHT_FIELD, partial(_light, radius=2, rim=0.0), 0.01),
    Case("rim alone", LIGHT_FIELD, partial(_light, radius=1, relight=0.0), 0.01),
    *(
        Case(f"strength {s}", BLEND_MATCHED, partial(_matched, strength=s), 1, _shown)
        for s in (0.0, 0.8, 1.0)
    ),
    *(
        Case(f"opacity {o}", BLEND_MATCHED, partial(_matched, opacity=o), 1, _shown)
        for o in (0.0, 0.001, 0.37)
    ),
    *(Case(name, BLEND_MATCHED, partial(_matched, x=x, y=y), 1, _shown) for name, (x, y) in PLACES.items()),
    *(
        Case(f"grain {g}", BLEND_MATCHED, partial(_matched, grain=g, x=x, y=y), 1, _shown)
        for g, x, y in ((0.4, 22, 14), (1.0, -24, -16))
    ),
    Case("unmatched", BLEND_MATCHED, _unmatched, 0, _shown),
]
