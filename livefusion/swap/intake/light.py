"""How a face is lit: brightness, from where, in which colours, and with which shadows.

All is measured on the unwrapped texture, so that it does not depend on where the face is or how it is turned.
"""

from collections.abc import Iterator

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.intake.criterion import Criterion, graded
from livefusion.swap.mesh.bake import View, inside_outline
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import Floats
from livefusion.swap.mesh.mask import features, forehead_height
from livefusion.swap.mesh.skin import below_mouth

# Mean brightness of the face, 0–255, beyond which nothing can be made of it.
_TOO_DARK, _TOO_BRIGHT = 22.0, 245.0
_CLIPPED = 250
_EPSILON = np.float32(1.0)
# The brightest of a face hardly depends on the colour of its skin: eyes and glints are bright on all.
_BRIGHT_PERCENTILE = 97
_SHADOW_BLURS = (4.0, 120.0)
_TINT_BLUR = 50.0


def light_criteria(view: View, skin: Floats, light: Floats) -> Iterator[Criterion]:
    """What is to be said of the light in a view; ``skin`` (1024, 1024) says where skin is bare, and ``light``
    (1024, 1024, 3) what of the shading the shape of the face explains."""
    grey = np.asarray(cv2.cvtColor(view.rgb, cv2.COLOR_RGB2GRAY), np.float32)
    inner = (features() > 0.5) & inside_outline()
    yield from _exposure(view.rgb, grey, inner)
    yield _side(grey, skin * features())
    yield _colour(view.rgb, skin * features() * (view.rgb.max(axis=2) < _CLIPPED))
    # A beard and a fringe are dark by themselves.
    between = (1 - below_mouth()) * (forehead_height() < 0)
    yield _shadows(grey, light, skin * features() * between)


def _exposure(rgb: npt.NDArray[np.uint8], grey: Floats, inner: npt.NDArray[np.bool_]) -> Iterator[Criterion]:
    mean, bright = float(grey[inner].mean()), float(np.percentile(grey[inner], _BRIGHT_PERCENTILE))
    yield Criterion(
        "exposure",
        graded(bright, (30, 0), (90, 70), (130, 100)),
        "the face is dark",
        "turn on a lamp in front of you or face a window",
        fatal=mean < _TOO_DARK,
    )
    clipped = float((rgb[inner].max(axis=1) >= _CLIPPED).mean())
    yield Criterion(
        "highlights",
        graded(clipped, (0.01, 100), (0.12, 70), (0.5, 0)),
        "parts of the face are burnt out",
        "use less light, or light from farther away",
        fatal=mean > _TOO_BRIGHT,
    )


def _side(grey: Floats, weight: Floats) -> Criterion:
    half = grey.shape[1] // 2
    both = np.minimum(weight, weight[:, ::-1])
    left, right = (
        float((grey[:, part] * both[:, part]).sum() / (both[:, part].sum() + _EPSILON))
        for part in (slice(0, half), slice(half, None))
    )
    stops = float(np.log2((left + _EPSILON) / (right + _EPSILON)))
    way = "left" if stops > 0 else "right"
    return Criterion(
        "side light",
        graded(abs(stops), (0.12, 100), (0.5, 70), (1.6, 0)),
        f"the light comes from one side, the {way} of the picture",
        "face a window or the lamp",
    )


def _colour(rgb: npt.NDArray[np.uint8], weight: Floats) -> Criterion:
    """Skin of all people lies between red and yellow; lights of two colours make it differ over the face."""
    small = cv2.resize(rgb, (256, 256), interpolation=cv2.INTER_AREA)
    lab = np.asarray(cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    share = np.asarray(cv2.resize(weight, (256, 256), interpolation=cv2.INTER_AREA), np.float32)
    tints = lab[..., 1:] * share[..., None]
    tints = low_pass(tints, _TINT_BLUR / 4) / (low_pass(share, _TINT_BLUR / 4)[..., None] + np.float32(1e-3))
    seen = tints[share > 0.5]
    if not len(seen):
        return Criterion("colour", 100)
    a, b = seen.mean(axis=0)
    spread = float(np.sqrt(np.square(seen - (a, b)).sum(axis=1).mean()))
    off = float(np.abs((np.degrees(np.arctan2(b, a)) - 52 + 180) % 360 - 180)) if np.hypot(a, b) > 4 else 90.0
    mixed = graded(spread, (4, 100), (9, 70), (22, 10))
    cast = graded(off, (30, 100), (45, 70), (90, 20))
    if mixed < cast:
        return Criterion(
            "colour", mixed, "lights of several colours fall on the face", "use one light, white or daylight"
        )
    return Criterion("colour", cast, "the colours of the skin are off", "use daylight, and no filter")


def _shadows(grey: Floats, light: Floats, weight: Floats) -> Criterion:
    """Darkness that the shape of the face does not explain, and that is broader than folds and pores."""
    nats = np.log(grey + _EPSILON) - np.log(light.mean(axis=2)) / np.float32(2.2)
    fine, broad = (
        low_pass(nats * weight, blur) / (low_pass(weight, blur) + np.float32(1e-3)) for blur in _SHADOW_BLURS
    )
    seen = weight > 0.5
    deviation = float((fine - broad)[seen].std()) if seen.any() else 0.0
    return Criterion(
        "shadows",
        graded(deviation, (0.10, 100), (0.20, 70), (0.45, 0)),
        "there are hard shadows on the face",
        "use soft light: a window without sun, or a lamp behind paper",
    )
