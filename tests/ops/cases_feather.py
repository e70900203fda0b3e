"""Cases of the operator that softens the edge of a patch."""

from functools import partial

import numpy as np
from op_case import Arguments, Case, Masks

from livefusion.ops.registry import MASK_FEATHER


def _patch(
    rng: np.random.Generator, width: int, height: int, radius: int, *, disc: bool = False
) -> Arguments:
    patch = rng.integers(0, 256, (height, width, 4), np.uint8)
    if disc:
        y, x = np.mgrid[0:height, 0:width]
        patch[..., 3] = 255 * (np.hypot(2 * x / width - 1, 2 * y / height - 1) < 0.8)
    return {"patch": patch, "radius": radius}


def _alpha(arguments: Arguments) -> Masks:
    mask = np.zeros(arguments["patch"].shape, bool)
    mask[..., 3] = arguments["radius"] > 0
    return {"patch": mask}


SIZES = ((54, 38), (1, 1), (3, 2), (2, 40), (31, 1))

CASES = [
    *(
        Case(
            f"disc-{radius}",
            MASK_FEATHER,
            partial(_patch, width=54, height=38, radius=radius, disc=True),
            0,
            _alpha,
        )
        for radius in (4, 0, 1, 18, 60)
    ),
    *(
        Case(f"{w}x{h}-{radius}", MASK_FEATHER, partial(_patch, width=w, height=h, radius=radius), 0, _alpha)
        for w, h in SIZES
        for radius in (1, 2, 7, 53)
    ),
    Case("widest", MASK_FEATHER, partial(_patch, width=3, height=4, radius=1000), 0, _alpha),
]
