"""Cases of the operators that draw the new face and colour it like the scene."""

from functools import partial
from typing import Any

import numpy as np
from op_case import Arguments, Case, picture

from livefusion.ops.registry import (
    COLOUR_STATS,
    COLOUR_TRANSFER,
    LIGHT_FIELD,
    RASTER_UV,
    SAMPLE_UV,
    SCALE_ALPHA,
)

HEIGHT, WIDTH, CELLS = 38, 54, (5, 7)


def _mesh(rng: np.random.Generator, jitter: float, shift: float = 0) -> Arguments:
    """A 6 × 6 grid of vertices over a 60 × 44 map, shaken so that triangles overlap and turn over."""
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


def _raster(rng: np.random.Generator, jitter: float, shift: float = 0) -> Arguments:
    return _mesh(rng, jitter, shift) | {
        "map": np.zeros((44, 60, 2), np.float32),
        "cover": np.full((44, 60), 7, np.float32),
        "zbuffer": np.zeros((44, 60), np.float32),
    }


def _sample(rng: np.random.Generator) -> Arguments:
    return {
        "map": rng.uniform(-4, 68, (44, 60, 2)).astype(np.float32),
        "cover": rng.uniform(0, 1, (44, 60)).astype(np.float32),
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


def _light(rng: np.random.Generator, radius: int) -> Arguments:
    light = np.zeros((*CELLS, 3), np.float32)
    return {"cells": _cells(rng), "stats": _stats(rng), "radius": radius, "light": light}


def _transfer(rng: np.random.Generator, strength: float) -> Arguments:
    light = rng.uniform(-40, 40, (*CELLS, 3)).astype(np.float32)
    return {"patch": _patch(rng), "stats": _stats(rng), "light": light, "strength": strength}


def _scale(rng: np.random.Generator, factor: float) -> Arguments:
    return {"patch": rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8), "factor": factor}


# A pixel centre that lies on an edge of a triangle may fall to either side of it.
DRAWN: dict[str, Any] = {"outliers": 0.004, "scratch": ("zbuffer",)}

CASES = [
    *(
        Case(f"jitter {jitter}", RASTER_UV, partial(_raster, jitter=jitter), 0.02, **DRAWN)
        for jitter in (0.0, 1.5, 8.0)
    ),
    Case("out of sight", RASTER_UV, partial(_raster, jitter=1.5, shift=500), scratch=("zbuffer",)),
    Case("half out of sight", RASTER_UV, partial(_raster, jitter=1.5, shift=-25), 0.02, **DRAWN),
    Case("noise", SAMPLE_UV, _sample, 1),
    *(
        Case(f"momentum {momentum}", COLOUR_STATS, partial(_measured, momentum=momentum, x=22, y=14), 0.02)
        for momentum in (0.0, 0.85)
    ),
    Case("in the corner", COLOUR_STATS, partial(_measured, momentum=0.0, x=66, y=42), 0.02),
    *(Case(f"radius {radius}", LIGHT_FIELD, partial(_light, radius=radius), 0.01) for radius in (1, 9)),
    *(Case(f"strength {s}", COLOUR_TRANSFER, partial(_transfer, strength=s), 1) for s in (0.0, 0.8, 1.0)),
    *(Case(f"factor {factor}", SCALE_ALPHA, partial(_scale, factor=factor)) for factor in (0.0, 0.37, 1.0)),
]
