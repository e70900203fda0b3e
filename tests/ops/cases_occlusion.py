"""Cases of the operators that keep what is in front of a face there."""

from functools import partial

import numpy as np
from op_case import Arguments, Case, Masks

from livefusion.core.geometry import Affine
from livefusion.ops.registry import BARE_OF_TENSOR, OCCLUDE, OCCLUSION_MATTE, OCCLUSION_TRACK

WIDTH, HEIGHT, SIDE = 54, 38, 32
UPRIGHT = Affine.similarity(0.61, 0.0, (26.3, 18.7), (15.5, 15.5))
ROLLED = Affine.similarity(1.7, 0.6, (24.1, 20.2), (15.5, 15.5))
OUTSIDE = Affine.similarity(0.5, 0.2, (400.0, 300.0), (15.5, 15.5))
HUGE = Affine.similarity(40.0, -0.3, (26.0, 18.0), (15.5, 15.5))


def _patch(rng: np.random.Generator) -> np.ndarray:
    """A patch whose alpha is a disc with wide, soft edges."""
    patch = rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    away = np.hypot((x - WIDTH / 2) / WIDTH, (y - HEIGHT / 2) / HEIGHT)
    patch[..., 3] = np.clip((0.55 - away) * 700, 0, 255)
    return patch


def _outline(rng: np.random.Generator) -> np.ndarray:
    """Rows that are looked at elsewhere, and columns of which some are left out on each side."""
    rows = np.clip(np.arange(SIDE), 4, SIDE - 6)
    return np.column_stack([rows, rng.integers(0, 9, SIDE), rng.integers(20, SIDE, SIDE)]).astype(np.uint8)


def _bare(
    rng: np.random.Generator,
    to_tensor: Affine,
    depth: int = 1,
    dtype: type = np.float32,
    bad: int = 0,
    low: float = 0.5,
    gain: float = 2.0,
) -> Arguments:
    tensor = rng.uniform(-0.2, 1.2, (depth, 47, 59)).astype(dtype)
    tensor[0].reshape(-1)[rng.choice(47 * 59, bad, replace=False)] = np.nan
    return {
        "tensor": tensor,
        "to_tensor": to_tensor,
        "low": low,
        "gain": gain,
        "classes": 0b101_0010_1101_0110_1010,
        "matte": rng.uniform(0, 1, (SIDE, SIDE)).astype(np.float32),
    }


def _track(
    rng: np.random.Generator,
    to_crop: Affine,
    rise: float = 0.7,
    fall: float = 0.4,
    band: float = 0.1,
    empty: bool = False,
    wild: bool = False,
) -> Arguments:
    found = rng.uniform(0, 1, (SIDE, SIDE)).astype(np.float32)
    if wild:
        found[1::3] = rng.choice([-9.0, 9.0, np.inf, -np.inf], found[1::3].shape)
    patch = _patch(rng)
    if empty:
        patch[..., 3] = 0
    return {
        "found": found,
        "patch": patch,
        "to_crop": to_crop,
        "outline": _outline(rng),
        "rise": rise,
        "fall": fall,
        "band": band,
        "belief": rng.uniform(0, 1, (SIDE, SIDE)).astype(np.float32),
        "cover": rng.integers(0, 256, (SIDE, SIDE), np.uint8),
        "share": np.full(1, 0.4, np.float32),
    }


def _matte(rng: np.random.Generator, wild: bool = False, width: int = SIDE) -> Arguments:
    """A crop of two colours with an edge that was found soft, in noise."""
    y, x = np.mgrid[0:SIDE, 0:width]
    found = 1 / (1 + np.exp((x - y / 2 - 5) / 3)) + rng.normal(0, 0.1, (SIDE, width))
    if wild:
        found[::3] = rng.choice([-9.0, 9.0, np.inf, np.nan, 0.0], found[::3].shape)
    image = np.where(x - y / 2 < 7, 0.2, 0.7) + rng.normal(0, 0.08, (3, SIDE, width))
    planes = np.asarray(image, np.float32)
    return {"found": found.astype(np.float32), "image": planes, "matte": np.zeros_like(found, np.float32)}


def _occlude(rng: np.random.Generator, to_crop: Affine, share: float = 0.3, most: float = 0.5) -> Arguments:
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    blob = 128 + 190 * np.sin(x / 5 + y / 9) + rng.integers(-20, 21, (SIDE, SIDE))
    return {
        "cover": np.clip(blob, 0, 255).astype(np.uint8),
        "share": np.full(1, share, np.float32),
        "to_crop": to_crop,
        "most": most,
        "patch": _patch(rng),
    }


def _alpha(arguments: Arguments) -> Masks:
    mask = np.zeros(arguments["patch"].shape, bool)
    changes = 0 < arguments["share"][0] < 1.4 * arguments["most"]
    mask[..., 3] = changes & (arguments["patch"][..., 3] > 0)
    return {"patch": mask}


MAPS = {"upright": UPRIGHT, "rolled": ROLLED, "outside": OUTSIDE, "huge": HUGE}
# A belief half-way between two levels of cover may be rounded to either; a nearest pixel may be either too.
ROUNDED = 0.01

CASES = [
    *(
        Case(f"{name}-{depth}", BARE_OF_TENSOR, partial(_bare, to_tensor=m, depth=depth), 1e-3)
        for name, m in MAPS.items()
        for depth in (1, 19)
    ),
    Case("half", BARE_OF_TENSOR, partial(_bare, to_tensor=ROLLED, dtype=np.float16), 1e-3),
    Case("half-19", BARE_OF_TENSOR, partial(_bare, to_tensor=ROLLED, depth=19, dtype=np.float16), 1e-3),
    Case("logits", BARE_OF_TENSOR, partial(_bare, to_tensor=ROLLED, low=-0.5, gain=1.0), 1e-3),
    *(
        Case(f"bad-{depth}", BARE_OF_TENSOR, partial(_bare, to_tensor=ROLLED, depth=depth, bad=90), 1e-3)
        for depth in (1, 19)
    ),
    Case("edge", OCCLUSION_MATTE, _matte, 1e-4),
    Case("wild", OCCLUSION_MATTE, partial(_matte, wild=True), 1e-4),
    Case("narrow", OCCLUSION_MATTE, partial(_matte, width=5), 1e-4),
    *(
        Case(name, OCCLUSION_TRACK, partial(_track, to_crop=to_crop), 1e-3, outliers=ROUNDED)
        for name, to_crop in MAPS.items()
    ),
    *(
        Case(name, OCCLUSION_TRACK, partial(_track, to_crop=UPRIGHT, **changed), 1e-3, outliers=ROUNDED)
        for name, changed in {
            "afresh": {"rise": 1.0, "fall": 1.0, "band": 0.0},
            "empty": {"empty": True},
            "wild": {"wild": True},
            "frozen": {"band": 2.0},
        }.items()
    ),
    # OpenCV rounds what it samples: half a level of cover is one of alpha.
    *(Case(name, OCCLUDE, partial(_occlude, to_crop=to_crop), 2, _alpha) for name, to_crop in MAPS.items()),
    *(
        Case(
            f"share-{share}-{most}",
            OCCLUDE,
            partial(_occlude, to_crop=UPRIGHT, share=share, most=most),
            2,
            _alpha,
        )
        for share, most in ((0.0, 0.5), (0.55, 0.5), (0.69, 0.5), (0.9, 0.5), (0.2, 0.17), (0.3, 0.0))
    ),
]
