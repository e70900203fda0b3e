"""The network's layers as an ONNX graph of opset 17: plain operators that every execution provider has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .architecture import network

_OPSET, _IR_VERSION = 17, 8


class OnnxLayers:
    """Writes nodes; a picture is the name of its tensor."""

    def __init__(self, weights: Mapping[str, Any]) -> None:
        self._weights = weights
        self.nodes: list[Any] = []
        self.initialisers: dict[str, Any] = {}

    def centred(self, x: Any) -> Any:
        """[0, 1] to [−2, 2]."""
        moved = self._node("Sub", [x, self._constant("half", np.float32(0.5))])
        return self._node("Mul", [moved, self._constant("four", np.float32(4))])

    def mix(self, x: Any, name: str, channels: int) -> Any:
        """A 1 × 1 convolution with bias."""
        return self._conv(x, name, self._kernel(name).transpose(3, 2, 0, 1))

    def gather(self, x: Any, name: str, channels: int) -> Any:
        """A 2 × 2 convolution of stride 2 with bias."""
        return self._conv(x, name, self._kernel(name).transpose(3, 2, 0, 1), stride=2)

    def around(self, x: Any, name: str, channels: int, step: int) -> Any:
        """A convolution of 3 × 3 cells with bias; a cell is ``step``² pixels, and gives one."""
        return self._conv(x, name, self._kernel(name).transpose(3, 2, 0, 1), stride=step, pad=step)

    def depthwise(self, x: Any, name: str) -> Any:
        """A 3 × 3 convolution of each channel, with bias."""
        kernel = self._kernel(name).transpose(2, 0, 1)[:, None]
        return self._conv(x, name, kernel, pad=1, group=len(kernel))

    def relu(self, x: Any) -> Any:
        """max(x, 0)."""
        return self._node("Relu", [x])

    def add(self, x: Any, y: Any) -> Any:
        """The sum; a side of 1 is repeated."""
        return self._node("Add", [x, y])

    def mean(self, x: Any) -> Any:
        """The mean over the whole crop, as one cell."""
        return self._node("GlobalAveragePool", [x])

    def spread(self, x: Any) -> Any:
        """Four times fewer channels at twice the resolution."""
        return self._node("DepthToSpace", [x], blocksize=2, mode="DCR")

    def sigmoid(self, x: Any) -> Any:
        """To [0, 1]."""
        return self._node("Sigmoid", [x])

    def _kernel(self, name: str) -> Any:
        return np.asarray(self._weights[f"{name}.kernel"], np.float32)

    def _conv(  # noqa: PLR0917 - what a convolution is made of
        self, x: Any, name: str, kernel: Any, stride: int = 1, pad: int = 0, group: int = 1
    ) -> Any:
        size = kernel.shape[-1]
        bias = np.asarray(self._weights[f"{name}.bias"], np.float32)
        inputs = [x, self._constant(f"{name}.kernel", kernel), self._constant(f"{name}.bias", bias)]
        pads, strides = [pad] * 4, [stride] * 2
        return self._node("Conv", inputs, kernel_shape=[size, size], strides=strides, pads=pads, group=group)

    def _node(self, kind: str, inputs: list[Any], **attributes: Any) -> str:
        output = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def _constant(self, name: str, values: Any) -> str:
        self.initialisers[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name


def to_onnx(weights: Mapping[str, Any], side: int) -> bytes:
    """The file: `image` (1, 3, side, side) in [0, 1] to `occlusion` (1, 1, side, side) in [0, 1]."""
    layers = OnnxLayers(weights)
    network(layers, "image")
    layers.nodes[-1].output[0] = "occlusion"
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, side, side])
    occlusion = helper.make_tensor_value_info("occlusion", TensorProto.FLOAT, [1, 1, side, side])
    graph = helper.make_graph(
        layers.nodes, "face_occluder", [image], [occlusion], list(layers.initialisers.values())
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="livefusion",
    )
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content
