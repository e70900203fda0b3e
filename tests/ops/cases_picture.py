"""Cases of the operators that change or make NV12 pictures."""

from functools import partial
from typing import Any

import numpy as np
from op_case import COLOURS, Arguments, Case, Masks, box_mask, picture

from livefusion.core.geometry import Region
from livefusion.ops.registry import (
    BLEND_YUVA,
    BLUR_REGION,
    FILL_REGION,
    NV12_TO_RGB,
    RGB_TO_NV12,
    SCALE_NV12,
)

WIDTH, HEIGHT = 50, 34


def _to_rgb(rng: np.random.Generator, *, width: int = WIDTH, height: int = HEIGHT, **rest: Any) -> Arguments:
    return picture(rng, width, height) | {"rgb": np.zeros((height, width, 3), np.uint8)} | rest


def _from_rgb(
    rng: np.random.Generator, *, width: int = WIDTH, height: int = HEIGHT, **rest: Any
) -> Arguments:
    rgb = rng.integers(0, 256, (height, width, 3), np.uint8)
    return {"rgb": rgb} | picture(rng, width, height) | rest


def _blend(rng: np.random.Generator, *, x: int, y: int, width: int, height: int, clear: bool) -> Arguments:
    patch = rng.integers(0, 256, (height, width, 4), np.uint8)
    patch[..., 3] = 0 if clear else rng.choice(np.array([0, 1, 127, 254, 255], np.uint8), (height, width))
    return picture(rng, WIDTH, HEIGHT) | {"patch": patch, "x": x, "y": y}


def _blended(arguments: Arguments) -> Masks:
    height, width = arguments["patch"].shape[:2]
    masks = box_mask(arguments, arguments["x"], arguments["y"], width, height)
    if not arguments["patch"][..., 3].any():
        return {name: np.zeros_like(mask) for name, mask in masks.items()}
    return masks


def _region(rng: np.random.Generator, **rest: Any) -> Arguments:
    return picture(rng, WIDTH, HEIGHT) | rest


def _in_box(arguments: Arguments) -> Masks:
    margin = arguments.get("feather", 0)
    return box_mask(
        arguments,
        arguments["x"] - margin,
        arguments["y"] - margin,
        arguments["width"] + 2 * margin,
        arguments["height"] + 2 * margin,
    )


def _scale(rng: np.random.Generator, size: tuple[int, int], region: Region) -> Arguments:
    out = {f"out_{name}": plane for name, plane in picture(rng, WIDTH, HEIGHT).items()}
    return picture(rng, *size) | out | {"region": region, "background": (17, 100, 200)}


OFFSETS = {"inside": (6, 4), "top-left": (-6, -8), "bottom-right": (40, 28), "away": (90, -60)}
BOXES = {
    "inside": (6, 4, 20, 24),
    "whole": (0, 0, WIDTH, HEIGHT),
    "across-the-corner": (-10, -6, 24, 20),
    "beyond": (40, 20, 80, 80),
    "away": (200, 200, 20, 20),
    "smallest": (48, 32, 2, 2),
    "empty": (10, 10, 0, 8),
}
BOX_ARGUMENTS = {
    name: dict(zip(("x", "y", "width", "height"), box, strict=True)) for name, box in BOXES.items()
}

SMALL = ((2, 2), (2, 34), (50, 2))

CASES = [
    *(Case(f"colour-{i}", NV12_TO_RGB, partial(_to_rgb, color=c), 1) for i, c in enumerate(COLOURS)),
    *(
        Case(f"{w}x{h}-{c.siting}", NV12_TO_RGB, partial(_to_rgb, width=w, height=h, color=c), 1)
        for w, h in SMALL
        for c in COLOURS[:2]
    ),
    *(Case(f"colour-{i}", RGB_TO_NV12, partial(_from_rgb, color=c), 1) for i, c in enumerate(COLOURS)),
    *(
        Case(f"{w}x{h}-{c.siting}", RGB_TO_NV12, partial(_from_rgb, width=w, height=h, color=c), 1)
        for w, h in SMALL
        for c in COLOURS[:2]
    ),
    *(
        Case(name, BLEND_YUVA, partial(_blend, x=x, y=y, width=22, height=18, clear=False), 0, _blended)
        for name, (x, y) in OFFSETS.items()
    ),
    Case("larger", BLEND_YUVA, partial(_blend, x=-4, y=-4, width=70, height=60, clear=False), 0, _blended),
    Case("clear", BLEND_YUVA, partial(_blend, x=2, y=2, width=30, height=20, clear=True), 0, _blended),
    *(Case(name, BLUR_REGION, partial(_region, **box), 1, _in_box) for name, box in BOX_ARGUMENTS.items()),
    *(
        Case(f"{name}-soft", BLUR_REGION, partial(_region, **box, feather=6, cells=5), 1, _in_box)
        for name, box in BOX_ARGUMENTS.items()
        if name != "empty"
    ),
    Case("one-cell", BLUR_REGION, partial(_region, **BOX_ARGUMENTS["inside"], cells=1), 1, _in_box),
    *(
        Case(name, FILL_REGION, partial(_region, **box, yuv=(1, 2, 3)), 0, _in_box)
        for name, box in BOX_ARGUMENTS.items()
    ),
    Case("same", SCALE_NV12, partial(_scale, size=(50, 34), region=Region(0, 0, 50, 34)), 0),
    Case("smaller", SCALE_NV12, partial(_scale, size=(130, 80), region=Region(0, 2, 50, 30)), 1),
    Case("larger", SCALE_NV12, partial(_scale, size=(20, 14), region=Region(4, 2, 40, 30)), 1),
    *(
        Case(f"{w}x{h}-to-{r.width}x{r.height}", SCALE_NV12, partial(_scale, size=(w, h), region=r), 2)
        for w, h in SMALL
        for r in (Region(48, 32, 2, 2), Region(0, 0, 2, 34), Region(0, 32, 50, 2), Region(6, 4, 14, 22))
    ),
    Case("mixed", SCALE_NV12, partial(_scale, size=(20, 80), region=Region(4, 2, 40, 30)), 2),
]
