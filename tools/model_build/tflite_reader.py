"""Read access to a TFLite flatbuffer: tensors, constants and operators of its first subgraph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

_DTYPES: dict[int, type[np.generic]] = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64,
}
_OPERATOR_NAMES: dict[int, str] = {
    code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)
}


@dataclass(frozen=True, slots=True)
class Operator:
    """One TFLite operator: its kind, tensor indices (−1 for an absent input) and undecoded options."""

    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    table: Any
    custom_code: str

    def options(self, schema: type[Any]) -> Any:
        """Decode the built-in options with the schema class of this kind."""
        options, table = schema(), self.table.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        return options

    def custom_options(self) -> bytes:
        """Return the raw options of a custom operator."""
        return bytes(self.table.CustomOptionsAsNumpy().tobytes())


class TfliteReader:
    """The first subgraph of a TFLite model.

    Raises ValueError for a sparse tensor or a constant of a type that no supported model uses.
    """

    def __init__(self, content: bytes) -> None:
        self._model = tflite.Model.GetRootAsModel(content, 0)
        self._graph = self._model.Subgraphs(0)
        self.inputs = tuple(int(index) for index in self._graph.InputsAsNumpy())
        self.outputs = tuple(int(index) for index in self._graph.OutputsAsNumpy())

    def name(self, tensor: int) -> str:
        """Return the tensor's name."""
        return str(self._graph.Tensors(tensor).Name().decode())

    def shape(self, tensor: int) -> tuple[int, ...]:
        """Return the tensor's shape; () for a scalar."""
        table = self._graph.Tensors(tensor)
        return tuple(int(n) for n in table.ShapeAsNumpy()) if table.ShapeLength() else ()

    def constants(self) -> dict[int, NDArray[Any]]:
        """Return every tensor whose content is in the file."""
        found = ((index, self._content(index)) for index in range(self._graph.TensorsLength()))
        return {index: content for index, content in found if content is not None}

    def operators(self) -> list[Operator]:
        """Return the operators in execution order."""
        return [
            self._operator(self._graph.Operators(index)) for index in range(self._graph.OperatorsLength())
        ]

    def _content(self, tensor: int) -> NDArray[Any] | None:
        table = self._graph.Tensors(tensor)
        buffer = self._model.Buffers(table.Buffer())
        if buffer.DataLength() == 0:
            return None
        if table.Sparsity() is not None:
            raise ValueError(f"tensor {self.name(tensor)} is sparse: use the dense variant of this model")
        if table.Type() not in _DTYPES:
            raise ValueError(f"tensor {self.name(tensor)} has unsupported type code {table.Type()}")
        flat = np.frombuffer(buffer.DataAsNumpy().tobytes(), _DTYPES[table.Type()])
        return flat.reshape(self.shape(tensor))

    def _operator(self, table: Any) -> Operator:
        code = self._model.OperatorCodes(table.OpcodeIndex())
        return Operator(
            kind=_OPERATOR_NAMES[code.BuiltinCode()],
            inputs=tuple(int(index) for index in table.InputsAsNumpy()),
            outputs=tuple(int(index) for index in table.OutputsAsNumpy()),
            table=table,
            custom_code=(code.CustomCode() or b"").decode(),
        )
