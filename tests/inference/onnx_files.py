"""ONNX files with the outside of known networks: right ranks, shapes, types and quirks, no sense inside."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}
Shape = Sequence[int | str]


def graph_file(
    path: Path,
    inputs: Mapping[str, tuple[Shape, str] | Shape],
    outputs: Mapping[str, Shape],
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    loose: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
    listed: bool = False,
) -> Path:
    """Write a file whose outputs are constants of their shapes, or zeros where an axis is free.

    ``weights`` are read by a node each, ``loose`` by none; ``listed`` has them stand among the inputs too.
    """
    nodes, initializers = [], []
    for name, shape in outputs.items():
        sizes = [side if isinstance(side, int) else 1 for side in shape]
        value = numpy_helper.from_array(np.zeros(sizes, np.float32), f"{name}_value")
        nodes.append(helper.make_node("Constant", [], [name], value=value))
    for name, value in (weights or {}).items():
        nodes.append(helper.make_node("Identity", [name], [f"{name}_read"]))
        initializers.append(numpy_helper.from_array(value, name))
    initializers += [numpy_helper.from_array(value, name) for name, value in (loose or {}).items()]
    given = [_info(name, *_typed(spec)) for name, spec in inputs.items()]
    if listed:
        given += [helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in initializers]
    graph = helper.make_graph(
        nodes, "g", given, [_info(name, shape) for name, shape in outputs.items()], initializers
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, str(path))
    return path


def _typed(spec: tuple[Shape, str] | Shape) -> tuple[Shape, str]:
    if len(spec) == 2 and isinstance(spec[1], str) and spec[1] in FLOATS:
        return spec[0], spec[1]
    return spec, "float32"


def _info(name: str, shape: Shape, dtype: str = "float32") -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, FLOATS[dtype], list(shape))


def picture(side: int | str, channels: int = 3) -> list[int | str]:
    """(1, channels, side, side)."""
    return [1, channels, side, side]


def detector(
    channels: Sequence[int], strides: Sequence[int] = (8, 16, 32), anchors: int = 2
) -> dict[str, Shape]:
    """Outputs of an SCRFD at 640, by the numbers that exporters give tensors."""
    return {
        str(400 + 20 * kind + index): [anchors * (640 // stride) ** 2, depth]
        for kind, depth in enumerate(channels)
        for index, stride in enumerate(strides)
    }


LATENT = [1, 512]
EMAP = np.eye(512, dtype=np.float32)
