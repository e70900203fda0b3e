"""A small writer of ONNX graphs that remembers the memory layout of every value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

OPSET = 17
IR_VERSION = 9
PRODUCER = "livefusion"

# Below this many elements a float16 constant saves less than the Cast node that widens it costs.
_SMALLEST_COMPACT = 256


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor of the graph being written; `nchw` is true when a 4-D value is held channels first."""

    name: str
    nchw: bool


@dataclass(slots=True)
class GraphBuilder:
    """Collects nodes and constants under deterministic names (kind plus running number)."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    _count: int = 0

    def _name(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def node(self, op: str, inputs: list[str], *, output: str | None = None, **attributes: Any) -> str:
        """Append one node with one output and return that output's name."""
        name = output or self._name(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, array: NDArray[Any]) -> str:
        """Store a constant; large float16 arrays stay float16 in the file behind a Cast to float32.

        ONNX Runtime folds the Cast when it loads the model, so it costs nothing at run time and the file is
        half as large. Small float16 arrays are widened here.
        """
        name = self._name("const")
        compact = array.dtype == np.float16 and array.size >= _SMALLEST_COMPACT
        if array.dtype == np.float16 and not compact:
            array = array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return self.node("Cast", [name], to=onnx.TensorProto.FLOAT) if compact else name

    def finish(
        self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """Close the graph, check it strictly and return the model."""
        graph = helper.make_graph(self.nodes, "livefusion", inputs, outputs, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name=PRODUCER,
        )
        onnx.checker.check_model(model)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
        return model
