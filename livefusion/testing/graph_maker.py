"""Making the graphs of stand-ins, node by node."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str]


class GraphMaker:
    """Collects nodes and constants under names of their own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: npt.ArrayLike, dtype: type = np.float32) -> str:
        """The name of a constant."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, operator: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        """The name of what an operator makes of inputs, ``to`` if it is given."""
        output = to or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def linear(self, image: str, weights: npt.NDArray[np.floating], bias: npt.NDArray[np.floating]) -> str:
        """A map whose channels are ``weights`` (n, 3) of red, green and blue, and ``bias`` (n,)."""
        return self.node("Conv", image, self.constant(weights[:, :, None, None]), self.constant(bias))

    def save(self, path: Path, image: tuple[str, Shape], outputs: Sequence[tuple[str, Shape]]) -> Path:
        """Write the graph, with names and shapes of its ends; all are float32."""
        graph = helper.make_graph(
            self.nodes, "stand-in", [_info(*image)], [_info(*one) for one in outputs], self.constants
        )
        opset = helper.make_opsetid("", 17)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
        return path


def _info(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))
