"""Convolutions, pools, padding and resizing: everything that works on an image, channels first."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from .graph_builder import Value
from .tflite_reader import Operator
from .tflite_values import OperatorConverter


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Return (before, after) of TFLite's SAME rule: the odd pixel goes after."""
    extent = (kernel - 1) * dilation + 1
    total = max((-(-size // stride) - 1) * stride + extent - size, 0)
    return total // 2, total - total // 2


class SpatialOperators(OperatorConverter):
    """Converters of operators with a spatial neighbourhood."""

    def convert_conv_2d(self, operator: Operator) -> None:
        """Ordinary or grouped convolution; TFLite weights are O×H×W×I."""
        options = operator.options(tflite.Conv2DOptions)
        weights = self.weights(operator.inputs[1])
        groups = self.tflite.shape(operator.inputs[0])[3] // weights.shape[3]
        self._convolve(operator, options, weights.transpose(0, 3, 1, 2), groups)

    def convert_depthwise_conv_2d(self, operator: Operator) -> None:
        """Depthwise convolution; TFLite weights are 1×H×W×O."""
        options = operator.options(tflite.DepthwiseConv2DOptions)
        weights = self.weights(operator.inputs[1])
        groups = self.tflite.shape(operator.inputs[0])[3]
        self._convolve(operator, options, weights.transpose(3, 0, 1, 2), groups)

    def _convolve(self, operator: Operator, options: Any, weights: NDArray[Any], groups: int) -> None:
        kernel = weights.shape[2:]
        strides = (options.StrideH(), options.StrideW())
        dilations = (options.DilationHFactor() or 1, options.DilationWFactor() or 1)
        inputs = [self.channels_first(operator.inputs[0]), self.graph.constant(weights)]
        if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
            inputs.append(self.graph.constant(self.weights(operator.inputs[2])))
        result = self.graph.node(
            "Conv",
            inputs,
            kernel_shape=kernel,
            strides=strides,
            dilations=dilations,
            pads=self._pads(operator, options, kernel, strides, dilations),
            group=groups,
        )
        self._finish(operator, options, result)

    def convert_max_pool_2d(self, operator: Operator) -> None:
        """Maximum over a window."""
        self._pool(operator, "MaxPool")

    def convert_average_pool_2d(self, operator: Operator) -> None:
        """Mean over a window; padding does not count, in TFLite and in ONNX alike."""
        self._pool(operator, "AveragePool")

    def _pool(self, operator: Operator, kind: str) -> None:
        options = operator.options(tflite.Pool2DOptions)
        kernel = (options.FilterHeight(), options.FilterWidth())
        strides = (options.StrideH(), options.StrideW())
        result = self.graph.node(
            kind,
            [self.channels_first(operator.inputs[0])],
            kernel_shape=kernel,
            strides=strides,
            pads=self._pads(operator, options, kernel, strides, (1, 1)),
        )
        self._finish(operator, options, result)

    def _pads(
        self,
        operator: Operator,
        options: Any,
        kernel: tuple[int, ...],
        strides: tuple[int, int],
        dilations: tuple[int, int],
    ) -> list[int]:
        if options.Padding() == tflite.Padding.VALID:
            return [0, 0, 0, 0]
        height, width = self.tflite.shape(operator.inputs[0])[1:3]
        top, bottom = same_padding(height, kernel[0], strides[0], dilations[0])
        left, right = same_padding(width, kernel[1], strides[1], dilations[1])
        return [top, left, bottom, right]

    def _finish(self, operator: Operator, options: Any, result: str) -> None:
        activated = self.activate(result, options.FusedActivationFunction())
        self.values[operator.outputs[0]] = Value(activated, nchw=True)

    def convert_pad(self, operator: Operator) -> None:
        """Zero padding; TFLite lists (before, after) for each axis."""
        value = self.values[operator.inputs[0]]
        amounts = self.weights(operator.inputs[1]).astype(np.int64)
        if value.nchw:
            amounts = amounts[[0, 3, 1, 2]]
        pads = self.int64(np.concatenate([amounts[:, 0], amounts[:, 1]]))
        result = self.graph.node("Pad", [value.name, pads, self.scalar(0.0)], mode="constant")
        self.values[operator.outputs[0]] = Value(result, value.nchw)

    def convert_resize_bilinear(self, operator: Operator) -> None:
        """Bilinear resize with TFLite's two flags for where the samples lie."""
        options = operator.options(tflite.ResizeBilinearOptions)
        samples = "half_pixel" if options.HalfPixelCenters() else "asymmetric"
        if options.AlignCorners():
            samples = "align_corners"
        batch, height, width, channels = self.tflite.shape(operator.outputs[0])
        inputs = [
            self.channels_first(operator.inputs[0]),
            "",
            "",
            self.int64([batch, channels, height, width]),
        ]
        result = self.graph.node("Resize", inputs, mode="linear", coordinate_transformation_mode=samples)
        self.values[operator.outputs[0]] = Value(result, nchw=True)

    def convert_custom(self, operator: Operator) -> None:
        """MediaPipe's transposed convolution with bias, the one custom operator of the supported models.

        Raises ValueError for any other, or when its stride differs from its kernel.
        """
        if operator.custom_code != "Convolution2DTransposeBias":
            raise ValueError(f"custom TFLite operator {operator.custom_code} has no conversion")
        _, stride_w, stride_h = struct.unpack("<iii", operator.custom_options()[:12])
        weights = self.weights(operator.inputs[1])
        kernel = weights.shape[1:3]
        if kernel != (stride_h, stride_w):
            raise ValueError(f"transposed convolution with kernel {kernel}, stride {(stride_h, stride_w)}")
        inputs = [
            self.channels_first(operator.inputs[0]),
            self.graph.constant(weights.transpose(3, 0, 1, 2)),
            self.graph.constant(self.weights(operator.inputs[2])),
        ]
        result = self.graph.node("ConvTranspose", inputs, kernel_shape=kernel, strides=kernel)
        self.values[operator.outputs[0]] = Value(result, nchw=True)
