"""Activations and arithmetic: one output element for each input element."""

from __future__ import annotations

from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from .graph_builder import Value
from .tflite_reader import Operator
from .tflite_values import OperatorConverter


class ElementwiseOperators(OperatorConverter):
    """Converters of operators that keep the shape (or broadcast)."""

    def convert_dequantize(self, operator: Operator) -> None:
        """Widening of float16 weights: the constant itself is passed on, still float16."""
        source, result = operator.inputs[0], operator.outputs[0]
        if source in self.constants:
            self.constants[result] = self.constants[source]
        else:
            self.values[result] = self.values[source]

    def convert_relu(self, operator: Operator) -> None:
        """max(x, 0)."""
        self._unary(operator, "Relu")

    def convert_logistic(self, operator: Operator) -> None:
        """1 / (1 + exp(−x))."""
        self._unary(operator, "Sigmoid")

    def convert_hard_swish(self, operator: Operator) -> None:
        """x · clip(x + 3, 0, 6) / 6."""
        self._unary(operator, "HardSwish")

    def convert_neg(self, operator: Operator) -> None:
        """−x."""
        self._unary(operator, "Neg")

    def convert_sqrt(self, operator: Operator) -> None:
        """√x."""
        self._unary(operator, "Sqrt")

    def convert_rsqrt(self, operator: Operator) -> None:
        """1 / √x."""
        self._unary(operator, "Sqrt", "Reciprocal")

    def _unary(self, operator: Operator, *kinds: str) -> None:
        value = self.values[operator.inputs[0]]
        name = value.name
        for kind in kinds:
            name = self.graph.node(kind, [name])
        self.values[operator.outputs[0]] = Value(name, value.nchw)

    def convert_prelu(self, operator: Operator) -> None:
        """Leaky slope for each channel; the slope stays float32 for `onnx_passes.split_prelu`."""
        value = self.values[operator.inputs[0]]
        slope = self.weights(operator.inputs[1]).astype(np.float32)
        if value.nchw:
            slope = slope.reshape((1,) * (3 - slope.ndim) + slope.shape).transpose(2, 0, 1)
        result = self.graph.node("PRelu", [value.name, self.graph.constant(slope)])
        self.values[operator.outputs[0]] = Value(result, value.nchw)

    def convert_add(self, operator: Operator) -> None:
        """a + b."""
        self._binary(operator, "Add", tflite.AddOptions)

    def convert_sub(self, operator: Operator) -> None:
        """a − b."""
        self._binary(operator, "Sub", tflite.SubOptions)

    def convert_mul(self, operator: Operator) -> None:
        """a · b."""
        self._binary(operator, "Mul", tflite.MulOptions)

    def convert_div(self, operator: Operator) -> None:
        """a / b."""
        self._binary(operator, "Div", tflite.DivOptions)

    def convert_squared_difference(self, operator: Operator) -> None:
        """(a − b)²."""
        names, nchw = self._operands(operator)
        difference = self.graph.node("Sub", names)
        self.values[operator.outputs[0]] = Value(self.graph.node("Mul", [difference, difference]), nchw)

    def _binary(self, operator: Operator, kind: str, schema: type[Any]) -> None:
        names, nchw = self._operands(operator)
        result = self.graph.node(kind, names)
        activated = self.activate(result, operator.options(schema).FusedActivationFunction())
        self.values[operator.outputs[0]] = Value(activated, nchw)

    def _operands(self, operator: Operator) -> tuple[list[str], bool]:
        """Return both operands in one layout, and whether that is channels first."""
        nchw = self._fits_channels_first(operator)
        fetch = self._broadcast_channels_first if nchw else self.channels_last
        return [fetch(index) for index in operator.inputs], nchw

    def _fits_channels_first(self, operator: Operator) -> bool:
        """Tell whether one operand is a channels-first image and the other broadcasts over it."""
        computed = [index for index in operator.inputs if index not in self.constants]
        ranks_fit = all(
            len(self.tflite.shape(index)) == 4
            or (index in self.constants and len(self.tflite.shape(index)) <= 1)
            for index in operator.inputs
        )
        return ranks_fit and any(self.values[index].nchw for index in computed)

    def _broadcast_channels_first(self, tensor: int) -> str:
        if tensor not in self.constants:
            return self.channels_first(tensor)
        return self.graph.constant(_constant_channels_first(self.constants[tensor]))


def _constant_channels_first(constant: NDArray[Any]) -> NDArray[Any]:
    if constant.ndim == 4:
        return constant.transpose(0, 3, 1, 2)
    return constant.reshape(-1, 1, 1) if constant.size > 1 else constant
