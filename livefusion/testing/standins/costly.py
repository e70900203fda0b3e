"""A stand-in that costs what an inswapper does: convolutions whose weights are made when it is loaded."""

from pathlib import Path
from typing import Final

import numpy as np

from livefusion.testing.standins.build import Graph, Shape
from livefusion.testing.standins.known import emap
from livefusion.testing.standins.truth import LATENT

SIDE: Final = 128
GIGAFLOP: Final = 349.0
"""What one picture takes of an inswapper, counting a multiplication and an addition as two."""


class _Layers:
    """Adds convolutions, and counts what they take."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.flop = 0

    def conv(self, tensor: str, channels: tuple[int, int], side: int, kernel: int, stride: int = 1) -> str:
        """A convolution to (1, channels, side, side), whose weights keep the mean of what comes in."""
        given, taken = channels
        shape = self.graph.constant([taken, given, kernel, kernel], dtype="int64")
        from onnx import numpy_helper

        value = numpy_helper.from_array(np.array([1 / (given * kernel * kernel)], np.float32))
        weights = self.graph.add("ConstantOfShape", shape, value=value)
        pad = kernel // 2
        self.flop += 2 * given * taken * kernel * kernel * side * side
        out = self.graph.add(
            "Conv", tensor, weights, pads=[pad] * 4, strides=[stride] * 2, kernel_shape=[kernel] * 2
        )
        return self.graph.add("Relu", out)


def build_costly(path: Path) -> float:
    """Write the file, of a few megabytes; the 10⁹ operations that a picture takes."""
    layers = _Layers()
    graph = layers.graph
    told = graph.add("Reshape", "source", graph.constant([1, LATENT, 1, 1], dtype="int64"))
    x = layers.conv("target", (3, 128), 128, 7)
    x = layers.conv(x, (128, 256), 128, 3)
    x = layers.conv(x, (256, 512), 64, 3, 2)
    x = layers.conv(x, (512, 1024), 32, 3, 2)
    style = graph.add("ReduceMean", told, axes=[1], keepdims=1)
    for _ in range(6):  # the blocks into which the identity is put
        y = layers.conv(x, (1024, 1024), 32, 3)
        y = graph.add("Add", y, style)
        x = graph.add("Add", x, layers.conv(y, (1024, 1024), 32, 3))
    for given, taken, side in ((1024, 512, 64), (512, 256, 128)):
        x = graph.add("Resize", x, "", graph.constant([1.0, 1.0, 2.0, 2.0]), mode="linear")
        x = layers.conv(x, (given, taken), side, 3)
    x = layers.conv(x, (256, 128), 128, 3)
    x = layers.conv(x, (128, 3), 128, 7)
    # What the convolutions made is a blur; the picture itself keeps it from being a box of one colour.
    graph.add("Add", graph.add("Mul", x, graph.constant(0.01)), "target", output="output")
    graph.constant(emap(), "emap")
    shapes: dict[str, Shape] = {"target": (1, 3, SIDE, SIDE), "source": (1, LATENT)}
    graph.write(path, shapes, {"output": (1, 3, SIDE, SIDE)})
    return layers.flop / 1e9
