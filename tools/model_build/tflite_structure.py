"""Operators that move or reduce axes: they work in TFLite's own channels-last order."""

from __future__ import annotations

import numpy as np
import tflite

from .graph_builder import Value
from .tflite_reader import Operator
from .tflite_values import OperatorConverter


class StructureOperators(OperatorConverter):
    """Converters of operators that change the shape."""

    def _keep(self, operator: Operator, name: str) -> None:
        self.values[operator.outputs[0]] = Value(name, nchw=False)

    def convert_reshape(self, operator: Operator) -> None:
        """New shape, same elements; the shape is the static one of the output tensor."""
        shape = self.tflite.shape(operator.outputs[0])
        source = operator.inputs[0]
        if source in self.constants:
            self.constants[operator.outputs[0]] = self.constants[source].reshape(shape)
            return
        self._keep(operator, self.graph.node("Reshape", [self.channels_last(source), self.int64(shape)]))

    def convert_transpose(self, operator: Operator) -> None:
        """Axis permutation."""
        order = [int(axis) for axis in self.weights(operator.inputs[1])]
        self._keep(
            operator, self.graph.node("Transpose", [self.channels_last(operator.inputs[0])], perm=order)
        )

    def convert_concatenation(self, operator: Operator) -> None:
        """Join along one axis."""
        options = operator.options(tflite.ConcatenationOptions)
        names = [self.channels_last(index) for index in operator.inputs]
        joined = self.graph.node("Concat", names, axis=options.Axis())
        self._keep(operator, self.activate(joined, options.FusedActivationFunction()))

    def convert_mean(self, operator: Operator) -> None:
        """Mean over axes (in opset 17 an attribute of ReduceMean)."""
        options = operator.options(tflite.ReducerOptions)
        axes = [int(axis) for axis in self.weights(operator.inputs[1]).reshape(-1)]
        source = self.channels_last(operator.inputs[0])
        self._keep(
            operator, self.graph.node("ReduceMean", [source], axes=axes, keepdims=int(options.KeepDims()))
        )

    def convert_sum(self, operator: Operator) -> None:
        """Sum over axes (in opset 17 an input of ReduceSum)."""
        options = operator.options(tflite.ReducerOptions)
        axes = self.int64(self.weights(operator.inputs[1]).reshape(-1))
        source = self.channels_last(operator.inputs[0])
        self._keep(operator, self.graph.node("ReduceSum", [source, axes], keepdims=int(options.KeepDims())))

    def convert_strided_slice(self, operator: Operator) -> None:
        """Begin/end/stride for each axis, with TFLite's bit masks for open ends and dropped axes."""
        options = operator.options(tflite.StridedSliceOptions)
        begin, end, stride = (self.weights(index).astype(np.int64) for index in operator.inputs[1:4])
        shape = self.tflite.shape(operator.inputs[0])
        for axis in range(len(begin)):
            if options.BeginMask() >> axis & 1:
                begin[axis] = 0
            if options.EndMask() >> axis & 1:
                end[axis] = shape[axis]
            if options.ShrinkAxisMask() >> axis & 1:
                end[axis] = begin[axis] + 1
        bounds = [self.int64(numbers) for numbers in (begin, end, np.arange(len(begin)), stride)]
        sliced = self.graph.node("Slice", [self.channels_last(operator.inputs[0]), *bounds])
        shape_out = self.int64(self.tflite.shape(operator.outputs[0]))
        self._keep(operator, self.graph.node("Reshape", [sliced, shape_out]))
