"""Skin that follows the performer's expression: the textures of an identity, mixed anew where it changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import Expression, Identity, Landmarks
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.reference.texels import MOST_DELTAS
from livefusion.ops.registry import MIX_TEXELS
from livefusion.ops.yuv import RgbToYuv
from livefusion.swap.mesh.expression import EXPRESSIONS, ExpressionReader, strength
from livefusion.swap.mesh.texture import LEVEL_SIZES, Level

# No face is ever wholly at rest: below this strength, and this far above the identity's own rest, nothing is
# taken for an expression.
_REST, _ABOVE_REST = 0.1, 0.05
# Least way from rest to full: a shorter one would make noise of the network flicker on the skin.
_LEAST_WAY = 0.2
# Of the way to what is seen that the weights go each frame: a smile at 30 fps is there after 0.1 s.
_FOLLOW = 0.4
# The weights trail by more than a frame anyway: looking at every other one halves what the network costs.
_LOOK_EVERY = 2
# Weights that differ by less show less than one level of brightness in most texels.
_STEP = 1 / 48
_SHOWS = 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class MixBox:
    """What the expressions of an identity change at one level: ``deltas`` (n · h, w, 4) int8 on the device,
    of the box whose first texel is (``x``, ``y``)."""

    deltas: Array
    x: int
    y: int


def known_of(identity: Identity) -> tuple[str, ...]:
    """Those of an identity's expressions that are known here, in order, as many as can be mixed."""
    return tuple(name for name in EXPRESSIONS if name in identity.expressions)[:MOST_DELTAS]


def mix_boxes(
    expressions: Sequence[Expression], color: ColorInfo, device: Device, stream: Stream
) -> list[MixBox | None]:
    """The differences for each level of a texture in the colours of a frame; None where nothing changes."""
    numbers = RgbToYuv.of(color)
    matrix = np.array([numbers.luma, numbers.cb, numbers.cr], np.float32)
    changes = [np.asarray(cv2.transform(e.delta.astype(np.float32), matrix), np.float32) for e in expressions]
    return [_box([_sized(change, side) for change in changes], device, stream) for side in LEVEL_SIZES]


def _sized(change: npt.NDArray[np.float32], side: int) -> npt.NDArray[np.int8]:
    smaller = side < change.shape[0]
    sized = cv2.resize(change, (side, side), interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    return np.clip(np.round(sized), -127, 127).astype(np.int8)


def _box(changes: Sequence[npt.NDArray[np.int8]], device: Device, stream: Stream) -> MixBox | None:
    changed = np.any([change.any(axis=2) for change in changes], axis=0)
    if not changed.any():
        return None
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    padding = ((0, 0), (0, 0), (0, 1))  # of the alpha, which stays
    stacked = np.concatenate([np.pad(change[top:bottom, left:right], padding) for change in changes])
    deltas = device.empty(stacked.shape, np.int8)
    device.copy(deltas, np.ascontiguousarray(stacked), stream)
    return MixBox(deltas, int(left), int(top))


class Mimic:
    """The expression of one track over time, and the texture mixed for it. Belongs to the render thread."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._weights: npt.NDArray[np.float64] | None = None
        self._wanted: npt.NDArray[np.float64] = np.zeros(0)
        self._frame = 0
        self._mixed: tuple[float, ...] = ()
        self._base: Level | None = None
        self._own: Level | None = None

    def follow(
        self,
        reader: ExpressionReader,
        landmarks: Landmarks,
        known: Mapping[str, tuple[float, float]],
        amount: float,
    ) -> None:
        """Take in what a frame shows.

        ``known`` gives the strengths at which each expression has weight 0 and 1; ``amount`` in [0, 1] is how
        much of that is wanted. At 0 nothing is looked at, and what was there fades.
        """
        if self._weights is not None and len(self._weights) != len(known):
            self._weights = None  # another identity
        if amount <= 0:
            if self._weights is not None:
                self._weights = self._weights * (1 - _FOLLOW)
            return
        if self._weights is None or self._frame % _LOOK_EVERY == 0:
            scores = reader(landmarks)
            seen = [_weight(strength(scores, name), *reach) for name, reach in known.items()]
            self._wanted = np.array(seen) * amount
        self._frame += 1
        if self._weights is None:
            self._weights = self._wanted
        self._weights = self._weights + _FOLLOW * (self._wanted - self._weights)

    def level(self, base: Level, box: MixBox | None, stream: Stream) -> Level:
        """The level to draw from: ``base``, or a copy with the expressions mixed in, in stream order."""
        if box is None or self._weights is None or self._weights.max() < _SHOWS:
            return base
        weights = tuple(self._weights.tolist())
        if self._base is not base or self._own is None:
            self._own = self._copy(base, stream)
            self._base, self._mixed = base, ()
        if not self._mixed or max(abs(a - b) for a, b in zip(weights, self._mixed, strict=True)) > _STEP:
            arguments = {
                "base": base.texels,
                "deltas": box.deltas,
                "weights": weights,
                "out": self._own.texels,
                "x": box.x,
                "y": box.y,
            }
            self._device.launch(MIX_TEXELS, arguments, stream)
            self._mixed = weights
        return self._own

    def _copy(self, base: Level, stream: Stream) -> Level:
        """A level of our own that looks like ``base``, in the memory of the last one if it fits."""
        texels = self._own.texels if self._own is not None and self._own.side == base.side else None
        if texels is None:
            texels = self._device.empty(base.texels.shape, np.uint8)
        self._device.copy(texels, base.texels, stream)
        return replace(base, texels=texels)


def _weight(seen: float, rest: float, full: float) -> float:
    start = max(_REST, rest + _ABOVE_REST)
    return min(max((seen - start) / max(full - start, _LEAST_WAY), 0.0), 1.0)
