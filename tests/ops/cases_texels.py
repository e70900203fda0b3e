"""Cases of the operator that mixes textures."""

from functools import partial

import numpy as np
from op_case import Arguments, Case, Masks

from livefusion.ops.registry import MIX_TEXELS

HEIGHT, WIDTH = 30, 44


def _mix(
    rng: np.random.Generator, weights: tuple[float, ...], box: tuple[int, int, int, int] = (5, 3, 21, 17)
) -> Arguments:
    x, y, width, height = box
    return {
        "base": rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8),
        "deltas": rng.integers(-128, 128, (len(weights) * height, width, 4)).astype(np.int8),
        "weights": weights,
        "out": rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8),
        "x": x,
        "y": y,
    }


def _in_box(arguments: Arguments) -> Masks:
    x, y, deltas = arguments["x"], arguments["y"], arguments["deltas"]
    mask = np.zeros(arguments["out"].shape, bool)
    mask[y : y + deltas.shape[0] // len(arguments["weights"]), x : x + deltas.shape[1]] = True
    return {"out": mask}


WEIGHTS = {
    "none": (0.0,),
    "full": (1.0,),
    "half": (0.5,),
    "beyond": (1.7, -0.4),
    "two": (0.3, 0.81),
    "three": (0.2, 0.0, 0.6),
    "four": (0.11, 0.99, 0.5, 0.004),
}
BOXES = {"whole": (0, 0, WIDTH, HEIGHT), "corner": (WIDTH - 3, HEIGHT - 2, 3, 2), "one": (7, 8, 1, 1)}

CASES = [
    *(Case(name, MIX_TEXELS, partial(_mix, weights=w), 0, _in_box) for name, w in WEIGHTS.items()),
    *(
        Case(name, MIX_TEXELS, partial(_mix, weights=(0.6, 0.3), box=box), 0, _in_box)
        for name, box in BOXES.items()
    ),
]
