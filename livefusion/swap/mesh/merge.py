"""One texture of several views of a face: colours that all agree on, details of those that saw them best."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.bake import Rgb, View
from livefusion.swap.mesh.blur import low_pass
from livefusion.swap.mesh.canonical import TEXTURE_SIZE, Floats
from livefusion.swap.mesh.mask import face_mask, smoothstep

# Facing below the first counts for nothing.
_FACING = (0.15, 0.6)
_FLOOR = np.float32(0.02)
# Colours are merged at this size; what is finer than the blur, in texels of the whole, is detail.
_COARSE = 512
_DETAIL_BLUR = 10.0
# Of two views that saw a texel, the one that saw it better gives nearly all of its detail: the mean of many
# that lie a texel apart is smooth, and has no pores.
_CHOOSING, _RANK = 4, 0.35
# A view whose colour is this far from what the others agree on shows something else there.
_DOUBT = 10.0
# The middle half bears a quarter of such views; looking again with those in doubt left out, nearly half.
_DOUBT_ROUNDS = 2
_AROUND = np.ones((15, 15), np.uint8)
_GAIN_ROUNDS, _GAIN_SIDE, _MOST_GAIN = 2, 128, 2.0
_SEEN = 0.3


def merge(views: Sequence[View]) -> Rgb:
    """One texture (1024, 1024, 3) of several views.

    Exposure and white balance of all are brought together first. Colours are then the weighted mean of those
    that agree with the middle half (of two views, of both), so that a hand before some of them leaves no
    trace, and details are of the sharpest views that face the place.
    """
    if len(views) == 1:
        return views[0].rgb
    balanced = _balanced(views)
    coarse = [_halved(low_pass(rgb, _DETAIL_BLUR)) for rgb in balanced]
    weights = np.stack([_halved(_weight(view)) for view in views])
    agreed = _agreed(coarse, weights)
    merged = _whole(agreed)
    merged += _details(views, balanced, coarse, agreed)
    return np.asarray(np.clip(merged + 0.5, 0, 255), np.uint8)


def seen_share(views: Sequence[View]) -> float:
    """Share of the face, in [0, 1], that looked at the camera in one of the views at least."""
    best = np.max([_halved(view.facing) for view in views], axis=0)
    shown = _halved(face_mask()) > 0.5
    return float((best[shown] > _SEEN).mean())


def weighted_midmean(stack: Floats, weights: Floats) -> Floats:
    """Per texel and channel of (n, h, w, c), the mean of the middle half of the weight (n, h, w).

    As deaf to outliers as the median, but without its seams where one view takes over from another.
    """
    merged = np.empty(stack.shape[1:], np.float32)
    # Row by row: sorting all at once would take several times the memory of the stack.
    for row in range(stack.shape[1]):
        order = np.argsort(stack[:, row], axis=0)
        values = np.take_along_axis(stack[:, row], order, axis=0)
        share = np.take_along_axis(np.broadcast_to(weights[:, row, :, None], values.shape), order, axis=0)
        reached = np.cumsum(share, axis=0) / share.sum(axis=0)
        counted = np.diff(np.clip(reached, 0.25, 0.75), axis=0, prepend=np.float32(0.25))
        merged[row] = (values * counted).sum(axis=0) / counted.sum(axis=0)
    return merged


def _weight(view: View) -> Floats:
    return smoothstep(view.facing, *_FACING) + _FLOOR


def _agreed(coarse: Sequence[Floats], weights: Floats) -> Floats:
    stack = np.stack(coarse)
    if len(coarse) == 2:
        return _mean(stack, weights)
    agreed = weighted_midmean(stack, weights)
    for _ in range(_DOUBT_ROUNDS):
        trusts = np.stack([_trust(colours, agreed) for colours in coarse])
        agreed = _mean(stack, weights * trusts + np.float32(1e-4))
    return agreed


def _mean(stack: Floats, weights: Floats) -> Floats:
    mean: Floats = (stack * weights[..., None]).sum(axis=0) / weights.sum(axis=0)[..., None]
    return mean


def _trust(colours: Floats, agreed: Floats) -> Floats:
    """(h, w) in [0, 1]: small where colours are not what the views agree on."""
    off = np.abs(colours - agreed).mean(axis=2)
    return np.asarray(1 / np.square(1 + np.square(off / _DOUBT)), np.float32)


def _details(
    views: Sequence[View], balanced: Sequence[Rgb], coarse: Sequence[Floats], agreed: Floats
) -> Floats:
    """What is finer than the colours, of those views that saw it best."""
    total = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE, 3), np.float32)
    shares = np.full((TEXTURE_SIZE, TEXTURE_SIZE), 1e-9, np.float32)
    order = np.argsort([-view.merit for view in views], kind="stable")
    for rank, index in enumerate(order):
        trust = _whole(low_pass(cv2.erode(_trust(coarse[index], agreed), _AROUND), 4.0))
        share = np.power(_weight(views[index]), _CHOOSING) * trust * np.float32(_RANK**rank)
        total += (balanced[index] - _whole(coarse[index])) * share[..., None]
        shares += share
    return total / shares[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class _Thumbnails:
    colours: Floats
    weights: Floats

    def gains(self) -> Floats:
        """(n, 3) factors that bring all views to one exposure and white balance, told where they overlap."""
        gains = np.ones((len(self.colours), 3), np.float32)
        for _ in range(_GAIN_ROUNDS):
            colours = self.colours * gains[:, None, None]
            mean = (colours * self.weights).sum(axis=0) / self.weights.sum(axis=0)
            common = self.weights * self.weights.mean(axis=0)
            own, wanted = (np.sum(c * common, axis=(1, 2)) for c in (colours, mean[None]))
            gains *= np.clip(wanted / np.maximum(own, 1e-3), 1 / _MOST_GAIN, _MOST_GAIN)
        return gains


def _balanced(views: Sequence[View]) -> list[Rgb]:
    side = (_GAIN_SIDE, _GAIN_SIDE)
    colours = [cv2.resize(view.rgb, side, interpolation=cv2.INTER_AREA) for view in views]
    weights = [cv2.resize(_weight(view), side, interpolation=cv2.INTER_AREA) for view in views]
    small = _Thumbnails(np.stack(colours).astype(np.float32), np.stack(weights).astype(np.float32)[..., None])
    gains = small.gains()
    return [
        np.asarray(np.clip(view.rgb * gain + 0.5, 0, 255), np.uint8)
        for view, gain in zip(views, gains, strict=True)
    ]


def _halved(values: npt.NDArray[np.floating]) -> Floats:
    return np.asarray(cv2.resize(values, (_COARSE, _COARSE), interpolation=cv2.INTER_AREA), np.float32)


def _whole(values: Floats) -> Floats:
    side = (TEXTURE_SIZE, TEXTURE_SIZE)
    return np.asarray(cv2.resize(values, side, interpolation=cv2.INTER_LINEAR), np.float32)
