"""Cases of the operator that puts decoded pictures upright."""

from functools import partial
from itertools import product

import numpy as np
from op_case import Arguments, Case, picture

from livefusion.ops.registry import TURN_NV12


def _turn(rng: np.random.Generator, width: int, height: int, **how: bool) -> Arguments:
    sides = (height, width) if how["transpose"] else (width, height)
    out = {f"out_{name}": plane for name, plane in picture(rng, *sides).items()}
    return picture(rng, width, height) | out | how


WAYS = [
    dict(zip(("transpose", "mirror_x", "mirror_y"), way, strict=True))
    for way in product((False, True), repeat=3)
]

CASES = [
    Case(f"{width}x{height}-way-{i}", TURN_NV12, partial(_turn, width=width, height=height, **way))
    for width, height in ((50, 34), (2, 2), (2, 40), (66, 4))
    for i, way in enumerate(WAYS)
]
