"""Cases of the operators between a swap network and a patch."""

from functools import partial

import numpy as np
from op_case import COLOURS, Arguments, Case, Masks

from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine
from livefusion.ops.registry import CROP_OF_TENSOR, LIMIT_ALPHA, PATCH_OF_CROP, REFINE_PATCH

SIDE, MASK, WIDTH, HEIGHT = 40, 32, 54, 38


def _crop(
    rng: np.random.Generator,
    color: ColorInfo = COLOURS[0],
    dtype: type = np.float32,
    bad: int = 0,
    feather: int = 5,
    side: int = SIDE,
    **more: object,
) -> Arguments:
    layout = more.get("layout", "chw")
    tensor = rng.uniform(-0.2, 1.2, (3, side, side) if layout == "chw" else (side, side, 3)).astype(dtype)
    flat = tensor.reshape(-1)
    flat[rng.choice(flat.size, bad, replace=False)] = rng.choice([np.nan, np.inf, -np.inf], bad)
    return {
        "tensor": tensor,
        "mask": rng.integers(0, 256, (MASK, MASK, 4), np.uint8),
        "crop": rng.integers(0, 256, (side, side, 4), np.uint8),
        "bad": np.full(1, 3, np.int32),
        "color": color,
        "feather": feather,
        **more,
    }


def _limit(rng: np.random.Generator, low: float = 0.0, high: float = 1.0, bad: int = 0) -> Arguments:
    limit = rng.uniform(low, high, (SIDE, SIDE)).astype(np.float32)
    limit.reshape(-1)[:bad] = np.nan
    return {
        "limit": limit,
        "crop": rng.integers(0, 256, (SIDE, SIDE, 4), np.uint8),
        "bad": np.zeros(1, np.int32),
    }


def _halved(rng: np.random.Generator) -> Arguments:
    arguments = _limit(rng)
    return arguments | {"limit": arguments["limit"].astype(np.float16)}


def _patch(rng: np.random.Generator, to_crop: Affine, bad: int = 0) -> Arguments:
    return {
        "crop": rng.integers(0, 256, (SIDE, SIDE, 4), np.uint8),
        "bad": np.full(1, bad, np.int32),
        "to_crop": to_crop,
        "patch": rng.integers(0, 256, (HEIGHT, WIDTH, 4), np.uint8),
    }


def _refine(rng: np.random.Generator, to_crop: Affine, bad: int = 0, share: float = 0.7) -> Arguments:
    return _patch(rng, to_crop, bad) | {"share": share}


def _colours_unless_bad(arguments: Arguments) -> Masks:
    ((name, mask),) = _unless_bad(arguments).items()
    mask[..., 3] = False
    return {name: mask}


def _unless_bad(arguments: Arguments) -> Masks:
    return {"patch": np.full(arguments["patch"].shape, arguments["bad"][0] == 0)}


def _alpha(arguments: Arguments) -> Masks:
    mask = np.zeros(arguments["crop"].shape, bool)
    mask[..., 3] = True
    return {"crop": mask}


MAPS = {
    "upright": Affine.similarity(0.61, 0.0, (26.3, 18.7), (19.5, 19.5)),
    "rolled": Affine.similarity(1.7, 0.6, (24.1, 20.2), (15.5, 15.5)),
    "outside": Affine.similarity(0.5, 0.2, (400.0, 300.0), (15.5, 15.5)),
    "enlarged": Affine.similarity(0.21, -0.3, (26.0, 18.0), (20.0, 18.0)),
}
SHAPES = {
    "hwc": {"layout": "hwc"},
    "bgr": {"order": "bgr"},
    "hwc-bgr": {"layout": "hwc", "order": "bgr", "gain": (250.0, 240.0, 230.0), "offset": (1.0, 2.0, 3.0)},
    "signed": {"gain": 127.5, "offset": 127.5},
    "three": {"gain": (58.0, 57.0, 57.4), "offset": (123.7, 116.3, 103.5)},
    "half": {"dtype": np.float16},
    "half-bad": {"dtype": np.float16, "bad": 9},
    "bad": {"bad": 7},
    "sharp": {"feather": 0},
    "odd": {"side": 37},
    "small": {"side": 20},
}

CASES = [
    *(
        Case(f"{color.matrix}-{color.range}-{color.siting}", CROP_OF_TENSOR, partial(_crop, color=color), 1)
        for color in COLOURS
    ),
    *(Case(name, CROP_OF_TENSOR, partial(_crop, **more), 1) for name, more in SHAPES.items()),
    Case("plain", LIMIT_ALPHA, _limit, 1, _alpha),
    Case("all", LIMIT_ALPHA, partial(_limit, low=1.0, high=1.5), 0, _alpha),
    Case("nothing", LIMIT_ALPHA, partial(_limit, low=-1.0, high=0.2), 1, _alpha),
    Case("unknown", LIMIT_ALPHA, partial(_limit, low=0.8, bad=1), 1, _alpha),
    Case("half", LIMIT_ALPHA, _halved, 1, _alpha),
    # OpenCV rounds what it samples.
    *(Case(name, PATCH_OF_CROP, partial(_patch, to_crop=m), 1, _unless_bad) for name, m in MAPS.items()),
    *(
        Case(name, REFINE_PATCH, partial(_refine, to_crop=m), 1, _colours_unless_bad)
        for name, m in MAPS.items()
    ),
    *(
        Case(f"share-{share}", REFINE_PATCH, partial(_refine, to_crop=MAPS["rolled"], share=share), 1)
        for share in (0.0, 1.0)
    ),
    Case("bad", REFINE_PATCH, partial(_refine, to_crop=MAPS["upright"], bad=1), 0, _colours_unless_bad),
    Case("bad", PATCH_OF_CROP, partial(_patch, to_crop=MAPS["upright"], bad=2), 0, _unless_bad),
]
