"""ONNX files with the outside of known networks: right ranks, shapes, types and quirks, no sense inside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "float64": TensorProto.DOUBLE}
Shape = Sequence[int | str]


@dataclass(frozen=True, slots=True)
class Typed:
    """The shape of an input that is not float32."""

    shape: Shape
    dtype: str


def graph_file(
    path: Path,
    inputs: Mapping[str, Typed | Shape],
    outputs: Mapping[str, Shape],
    *,
    weights: Mapping[str, npt.NDArray[Any]] | None = None,
    loose: Mapping[str, npt.NDArray[Any]] | None = None,
    opset: int = 17,
    listed: bool = False,
) -> Path:
    """Write a file whose outputs are constants of their shapes, or zeros where an axis is free.

    ``weights`` are read by a node each, ``loose`` by none; ``listed`` has them stand among the inputs too.
    """
    nodes, initializers = [], []
    for name, shape in outputs.items():
        sizes = [side if isinstance(side, int) else 1 for side in shape]
        zeros = numpy_helper.from_array(np.zeros(sizes, np.float32), f"{name}_value")
        nodes.append(helper.make_node("Constant", [], [name], value=zeros))
    for name, value in (weights or {}).items():
        nodes.append(helper.make_node("Identity", [name], [f"{name}_read"]))
        initializers.append(numpy_helper.from_array(value, name))
    initializers += [numpy_helper.from_array(value, name) for name, value in (loose or {}).items()]
    typed = {name: one if isinstance(one, Typed) else Typed(one, "float32") for name, one in inputs.items()}
    given = [_info(name, one.shape, one.dtype) for name, one in typed.items()]
    if listed:
        given += [helper.make_tensor_value_info(one.name, one.data_type, one.dims) for one in initializers]
    graph = helper.make_graph(
        nodes, "g", given, [_info(name, shape) for name, shape in outputs.items()], initializers
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, str(path))
    return path


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


LATENT: Shape = [1, 512]
EMAP: npt.NDArray[np.float32] = np.eye(512, dtype=np.float32)
