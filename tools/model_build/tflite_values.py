"""What all operator converters share: the values seen so far, and how to fetch one in a wanted layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from .graph_builder import GraphBuilder, Value
from .tflite_reader import TfliteReader


class OperatorConverter:
    """State of one conversion; subclasses add one `convert_<kind>` method for each operator kind."""

    def __init__(self, reader: TfliteReader, graph: GraphBuilder) -> None:
        self.tflite = reader
        self.graph = graph
        self.constants = reader.constants()
        self.values: dict[int, Value] = {}

    def channels_last(self, tensor: int) -> str:
        """Return the tensor in TFLite's own order."""
        if tensor in self.constants:
            return self.graph.constant(self.constants[tensor])
        value = self.values[tensor]
        return self.graph.node("Transpose", [value.name], perm=[0, 2, 3, 1]) if value.nchw else value.name

    def channels_first(self, tensor: int) -> str:
        """Return a 4-D tensor as N×C×H×W."""
        value = self.values[tensor]
        return value.name if value.nchw else self.graph.node("Transpose", [value.name], perm=[0, 3, 1, 2])

    def int64(self, numbers: Any) -> str:
        """Store integers as the int64 constant that ONNX shapes and axes need."""
        return self.graph.constant(np.asarray(numbers, np.int64))

    def scalar(self, number: float) -> str:
        """Store a float32 scalar."""
        return self.graph.constant(np.asarray(number, np.float32))

    def weights(self, tensor: int) -> NDArray[Any]:
        """Return a constant's content.

        Raises KeyError if the tensor is computed.
        """
        return self.constants[tensor]

    def activate(self, name: str, activation: int) -> str:
        """Apply a fused activation.

        Raises ValueError for one that no supported model uses.
        """
        if activation == tflite.ActivationFunctionType.NONE:
            return name
        if activation == tflite.ActivationFunctionType.RELU:
            return self.graph.node("Relu", [name])
        raise ValueError(f"fused activation {activation} has no conversion")
