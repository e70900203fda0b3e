"""Cases of the operators that make a patch as sharp and as grainy as the frame."""

from functools import partial

import numpy as np
from op_case import Arguments, Case

from livefusion.ops.registry import MEASURE_DETAIL, SOFTEN_PATCH

HEIGHT, WIDTH = 70, 90


def _patch(rng: np.random.Generator) -> np.ndarray:
    """Soft shapes and noise, on a disc with soft edges and a hole."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    shapes = 120 + 50 * np.sin(x / 5)[..., None] * np.cos(y / 4)[..., None]
    pixels = np.clip(shapes + rng.normal(0, 3, (HEIGHT, WIDTH, 4)), 0, 255).astype(np.uint8)
    away = np.hypot((x - WIDTH / 2) / WIDTH, (y - HEIGHT / 2) / HEIGHT)
    pixels[..., 3] = np.clip((0.5 - away) * 1000, 0, 255)
    pixels[20:25, 40:50] = 0
    pixels[..., :3] *= pixels[..., 3:] > 0
    return pixels


def _luma(rng: np.random.Generator, sharpness: float) -> np.ndarray:
    y, x = np.mgrid[0:100, 0:140]
    waves = 110 + 40 * np.tanh(sharpness * np.sin(x / 6) * np.cos(y / 7))
    return np.clip(waves + rng.normal(0, 4, waves.shape), 0, 255).astype(np.uint8)


def _measured(
    rng: np.random.Generator,
    *,
    momenta: tuple[float, float] = (0.7, 0.9),
    step: int = 2,
    sharpness: float = 1,
    x: int = 22,
    y: int = 14,
) -> Arguments:
    return {
        "patch": _patch(rng),
        "luma": _luma(rng, sharpness),
        "x": x,
        "y": y,
        "step": step,
        "momentum": momenta[0],
        "noise_momentum": momenta[1],
        "detail": rng.uniform(1, 9, (3, 6)).astype(np.float32),
    }


def _softened(
    rng: np.random.Generator, softness: float, size: tuple[int, int] = (HEIGHT, WIDTH)
) -> Arguments:
    missing = np.zeros((3, 6), np.float32)
    missing[2, 0] = softness
    return {"patch": _patch(rng)[: size[0], : size[1]].copy(), "detail": missing}


CASES = [
    Case("all new", MEASURE_DETAIL, partial(_measured, momenta=(0.0, 0.0)), 0.05),
    Case("over time", MEASURE_DETAIL, _measured, 0.05),
    *(
        Case(f"sharpness {s}", MEASURE_DETAIL, partial(_measured, momenta=(0.0, 0.0), sharpness=s), 0.05)
        for s in (0.1, 30)
    ),
    *(Case(f"step {s}", MEASURE_DETAIL, partial(_measured, step=s), 0.05) for s in (1, 5, 200)),
    Case("top-left", MEASURE_DETAIL, partial(_measured, x=-24, y=-16), 0.05),
    Case("bottom-right", MEASURE_DETAIL, partial(_measured, x=80, y=60), 0.05),
    Case("away", MEASURE_DETAIL, partial(_measured, x=300, y=-200)),
    *(Case(f"softness {s}", SOFTEN_PATCH, partial(_softened, softness=s)) for s in (0.0, 0.3, 1.1, 99.0)),
    *(
        Case(f"{h} x {w}", SOFTEN_PATCH, partial(_softened, softness=2.7, size=(h, w)))
        for h, w in ((2, 30), (30, 2), (8, 8))
    ),
]
