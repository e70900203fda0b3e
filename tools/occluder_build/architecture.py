"""The network's layers, told once to whoever computes them: JAX for training, ONNX for shipping.

An encoder down to 8 × 8 cells with a look at the whole crop, and a decoder back to half of its resolution.
There what it found is joined with the crop's own detail, which has four pixels a cell in its channels, so
that rims are drawn where they are, to the pixel.
"""

from __future__ import annotations

from typing import Any, Protocol

WIDTHS = (16, 32, 64, 96)
"""Channels at 64, 32, 16 and 8 cells across, for a crop of 128."""
_DEPTHS_DOWN, _DEPTHS_UP = (1, 2, 2, 4), (2, 1, 2)
_DETAIL = 24


class Layers(Protocol):
    """What the network is made of. ``name`` is that of the layer's weights."""

    def centred(self, x: Any) -> Any:
        """[0, 1] to [−2, 2]."""

    def mix(self, x: Any, name: str, channels: int) -> Any:
        """A 1 × 1 convolution with bias."""

    def gather(self, x: Any, name: str, channels: int) -> Any:
        """A 2 × 2 convolution of stride 2 with bias."""

    def around(self, x: Any, name: str, channels: int, step: int) -> Any:
        """A convolution of 3 × 3 cells with bias; a cell is ``step``² pixels, and gives one."""

    def depthwise(self, x: Any, name: str) -> Any:
        """A 3 × 3 convolution of each channel, with bias."""

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""

    def add(self, x: Any, y: Any) -> Any:
        """The sum; a side of 1 is repeated."""

    def mean(self, x: Any) -> Any:
        """The mean over the whole crop, as one cell."""

    def spread(self, x: Any) -> Any:
        """Four times fewer channels at twice the resolution."""

    def sigmoid(self, x: Any) -> Any:
        """To [0, 1]."""


def network(layers: Layers, image: Any) -> Any:
    """What share of each pixel is covered."""
    x, kept = layers.centred(image), []
    detail = layers.relu(layers.around(x, "detail", _DETAIL, 2))
    for level, (width, depth) in enumerate(zip(WIDTHS, _DEPTHS_DOWN, strict=True)):
        x = layers.relu(layers.gather(x, f"down{level}", width))
        if level == 0:
            x = layers.add(x, layers.mix(detail, "detail.out", width))
        for number in range(depth):
            x = _block(layers, x, f"encode{level}.{number}", width, level > 0)
        kept.append(x)
    whole = layers.relu(layers.mix(layers.mean(x), "whole0", WIDTHS[-1]))
    x = layers.add(x, layers.mix(whole, "whole1", WIDTHS[-1]))
    for level, depth in zip((2, 1, 0), _DEPTHS_UP, strict=True):
        width = WIDTHS[level]
        x = layers.spread(layers.mix(x, f"up{level}", 4 * width))
        x = layers.relu(layers.add(x, kept[level]))
        for number in range(depth):
            x = _block(layers, x, f"decode{level}.{number}", width, level > 0)
    y = layers.relu(layers.add(detail, layers.mix(x, "join", _DETAIL)))
    y = _block(layers, y, "fine", _DETAIL, True)
    found = layers.add(layers.mix(x, "head", 4), layers.around(y, "rim.out", 4, 1))
    return layers.sigmoid(layers.spread(found))


def _block(layers: Layers, x: Any, name: str, width: int, wide: bool) -> Any:
    """A residual block: look round, mix the channels, add."""
    y = layers.depthwise(x, f"{name}.look")
    y = layers.relu(layers.mix(y, f"{name}.mix", 2 * width) if wide else y)
    return layers.add(x, layers.mix(y, f"{name}.out", width))
