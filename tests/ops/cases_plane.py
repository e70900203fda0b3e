"""Shifting a picture by a plane, as strongly as each block hides it."""

from functools import partial

import numpy as np
from op_case import Arguments, Case

from livefusion.ops.registry import ADD_PLANE

# Whole blocks, blocks cut at the right, at the bottom and at both, and less than a block.
SIZES = ((64, 32), (50, 34), (34, 24), (40, 30), (2, 2), (6, 34))


def _add(rng: np.random.Generator, width: int, height: int, *, spread: int = 255, base: int = 0) -> Arguments:
    """A picture whose blocks differ in light and contrast, so that every gain is used."""
    blocks = rng.integers(base, base + 256 - spread, (-(-height // 8), -(-width // 8)))
    light = np.kron(blocks, np.ones((8, 8), int))[:height, :width]
    luma = np.clip(light + rng.integers(0, spread + 1, (height, width)), 0, 255).astype(np.uint8)
    return {
        "luma": luma,
        "delta": rng.integers(-128, 128, (height, width)).astype(np.int8),
        "gains": rng.integers(0, 256, (16, 16)).astype(np.uint8),
    }


def _still(rng: np.random.Generator) -> Arguments:
    return _add(rng, 48, 24) | {"gains": np.zeros((16, 16), np.uint8)}


def _unchanged(arguments: Arguments) -> dict[str, np.ndarray]:
    return {"luma": np.zeros(arguments["luma"].shape, bool)}


CASES = [
    *(Case(f"{w}x{h}", ADD_PLANE, partial(_add, width=w, height=h), 0) for w, h in SIZES),
    *(
        Case(f"contrast-{n}", ADD_PLANE, partial(_add, width=72, height=40, spread=n), 0)
        for n in (0, 3, 12, 40, 70)
    ),
    Case("dark", ADD_PLANE, partial(_add, width=72, height=40, spread=0, base=-250), 0),
    Case("no-gain", ADD_PLANE, _still, 0, _unchanged),
]
