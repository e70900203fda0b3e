"""Cases of the operators that make tensors: warp and letterbox."""

from collections.abc import Callable
from typing import Any

import numpy as np
from op_case import COLOURS, Arguments, Case, picture

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.registry import LETTERBOX_NV12, NV12_WARP_NORM

Make = Callable[[np.random.Generator], Arguments]

# Planes are rounded to bytes before they are converted: half a level of luma and one of chroma, amplified.
LEVELS = 1.8
# One step of float16 just below 1.
HALF = 2**-11

MAPS = {
    "identity": Affine([[1, 0, 0], [0, 1, 0]]),
    "turned": Affine.similarity(0.7, 0.4, (25, 17), (16, 12)),
    "upside-down": Affine.similarity(1.3, 3.0, (25, 17), (16, 12)),
    "mirrored": Affine([[-1, 0.1, 30.3], [0.2, 1.1, -3.7]]),
    "at-the-corner": Affine.similarity(1.5, 0.2, (0, 0), (16, 12)),
    "outside": Affine([[1, 0, 500], [0, 1, -300]]),
    "tiny-source": Affine.similarity(40.0, 0.1, (33, 3), (16, 12)),
    "whole-and-more": Affine.similarity(0.05, 1.0, (25, 17), (16, 12)),
}


def _warp(
    *matrices: Affine,
    size: tuple[int, int] = (50, 34),
    shape: tuple[int, ...] = (3, 24, 32),
    dtype: type[np.floating] = np.float32,
    **rest: Any,
) -> Make:
    def make(rng: np.random.Generator) -> Arguments:
        out = np.full((len(matrices), *shape), np.nan, dtype)
        return picture(rng, *size) | {"matrices": matrices, "color": ColorInfo(), "out": out} | rest

    return make


def _letterbox(size: tuple[int, int], shape: tuple[int, ...] = (3, 24, 40), **rest: Any) -> Make:
    def make(rng: np.random.Generator) -> Arguments:
        return picture(rng, *size) | {"out": np.full(shape, np.nan, np.float32), "color": ColorInfo()} | rest

    return make


CASES = [
    *(Case(name, NV12_WARP_NORM, _warp(matrix), LEVELS) for name, matrix in MAPS.items()),
    *(
        Case(f"colour-{i}", NV12_WARP_NORM, _warp(MAPS["turned"], color=c), LEVELS)
        for i, c in enumerate(COLOURS)
    ),
    Case("smallest", NV12_WARP_NORM, _warp(MAPS["turned"], size=(2, 2)), LEVELS),
    Case("one-pixel", NV12_WARP_NORM, _warp(MAPS["turned"], shape=(3, 1, 1)), LEVELS),
    Case(
        "normalised",
        NV12_WARP_NORM,
        _warp(MAPS["turned"], shape=(24, 32, 3), mean=127.5, scale=1 / 128, layout="hwc", order="bgr"),
        LEVELS / 128,
    ),
    Case(
        "per-channel",
        NV12_WARP_NORM,
        _warp(MAPS["turned"], mean=(123.7, 116.3, 103.5), scale=(0.017, 0.0175, 0.0174), order="bgr"),
        LEVELS * 0.0175,
    ),
    *(
        Case(f"{size[0]}x{size[1]}-{name}", NV12_WARP_NORM, _warp(MAPS[name], size=size), LEVELS)
        for size in ((2, 34), (50, 2))
        for name in ("at-the-corner", "whole-and-more")
    ),
    # More faces than any one launch takes, and their number not a multiple of it.
    Case("many-faces", NV12_WARP_NORM, _warp(*MAPS.values(), *MAPS.values(), MAPS["turned"]), LEVELS),
    Case("half", NV12_WARP_NORM, _warp(*MAPS.values(), dtype=np.float16, scale=1 / 255), LEVELS / 255 + HALF),
    Case(
        "half-hwc",
        NV12_WARP_NORM,
        _warp(
            MAPS["turned"],
            MAPS["mirrored"],
            shape=(24, 32, 3),
            dtype=np.float16,
            mean=(127.5, 127, 128),
            scale=1 / 127.5,
            layout="hwc",
            order="bgr",
        ),
        LEVELS / 127.5 + HALF,
    ),
    *(
        Case(f"{size[0]}x{size[1]}", LETTERBOX_NV12, _letterbox(size), LEVELS)
        for size in ((160, 96), (84, 62), (40, 24), (20, 12), (2, 2), (200, 10), (10, 200))
    ),
    # Every 2nd, 3rd, 4th and 5th row of luma, with one or none of rows that are left over.
    *(
        Case(f"{size[0]}x{size[1]}-every-{step}", LETTERBOX_NV12, _letterbox(size), LEVELS)
        for size, step in (
            ((156, 94), 1),
            ((160, 98), 2),
            ((240, 144), 3),
            ((242, 146), 3),
            ((322, 194), 4),
            ((404, 244), 5),
        )
    ),
    *(
        Case(f"{size[0]}x{size[1]}-portrait", LETTERBOX_NV12, _letterbox(size, (3, 40, 24)), LEVELS)
        for size in ((90, 160), (96, 164), (144, 242), (30, 248))
    ),
    *(
        Case(
            f"{size[0]}x{size[1]}-to-{width}x{height}",
            LETTERBOX_NV12,
            _letterbox(size, (3, height, width)),
            LEVELS,
        )
        for size in ((50, 34), (2, 40))
        for width, height in ((1, 1), (7, 5), (1, 33), (51, 1))
    ),
    Case("hwc", LETTERBOX_NV12, _letterbox((160, 80), (24, 40, 3), layout="hwc", order="rgb"), LEVELS),
    Case("normalised", LETTERBOX_NV12, _letterbox((90, 80), mean=(1, 2, 3), scale=0.5), LEVELS / 2),
    Case("per-channel", LETTERBOX_NV12, _letterbox((90, 80), scale=(0.5, 1, 0.25), order="rgb"), LEVELS),
]
