"""Writes tiny TFLite files for the tests of the converter: plain lists in, flatbuffer bytes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

_TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int32": tflite.TensorType.INT32,
}

# Writes the options table into the builder and returns (its union type, its offset).
Options = Callable[[Any], tuple[int, int]]


def no_options(builder: Any) -> tuple[int, int]:
    """An operator without options."""
    return 0, 0


@dataclass
class TfliteWriter:
    """Collects tensors and operators; tensor indices are those that `tensor` returns."""

    tensors: list[tuple[str, tuple[int, ...], str, bytes]] = field(default_factory=list)
    operators: list[tuple[int, list[int], list[int], Options]] = field(default_factory=list)

    def tensor(self, name: str, shape: tuple[int, ...]) -> int:
        """Add a computed float32 tensor."""
        self.tensors.append((name, shape, "float32", b""))
        return len(self.tensors) - 1

    def constant(self, array: np.ndarray[Any, Any]) -> int:
        """Add a constant."""
        self.tensors.append((f"constant_{len(self.tensors)}", array.shape, array.dtype.name, array.tobytes()))
        return len(self.tensors) - 1

    def operator(
        self, code: int, inputs: list[int], outputs: list[int], options: Options = no_options
    ) -> None:
        """Add an operator in execution order."""
        self.operators.append((code, inputs, outputs, options))

    def finish(self, inputs: list[int], outputs: list[int]) -> bytes:
        """Return the file."""
        builder = flatbuffers.Builder(1024)
        buffers = [self._buffer(builder, b"")]
        tensors = []
        for name, shape, dtype, content in self.tensors:
            if content:
                buffers.append(self._buffer(builder, content))
            tensors.append(self._tensor(builder, name, shape, dtype, len(buffers) - 1 if content else 0))
        codes = [self._code(builder, code) for code, *_ in self.operators]
        operators = [self._operator(builder, number) for number in range(len(self.operators))]
        ends = [builder.CreateNumpyVector(np.asarray(side, np.int32)) for side in (inputs, outputs)]
        lists = [_offsets(builder, items) for items in (tensors, operators)]
        tflite.SubGraphStart(builder)
        tflite.SubGraphAddTensors(builder, lists[0])
        tflite.SubGraphAddOperators(builder, lists[1])
        tflite.SubGraphAddInputs(builder, ends[0])
        tflite.SubGraphAddOutputs(builder, ends[1])
        graph = _offsets(builder, [tflite.SubGraphEnd(builder)])
        codes_list, buffers_list = _offsets(builder, codes), _offsets(builder, buffers)
        tflite.ModelStart(builder)
        tflite.ModelAddVersion(builder, 3)
        tflite.ModelAddOperatorCodes(builder, codes_list)
        tflite.ModelAddSubgraphs(builder, graph)
        tflite.ModelAddBuffers(builder, buffers_list)
        builder.Finish(tflite.ModelEnd(builder), b"TFL3")
        return bytes(builder.Output())

    @staticmethod
    def _buffer(builder: Any, content: bytes) -> int:
        data = builder.CreateByteVector(content) if content else 0
        tflite.BufferStart(builder)
        if content:
            tflite.BufferAddData(builder, data)
        return int(tflite.BufferEnd(builder))

    @staticmethod
    def _tensor(builder: Any, name: str, shape: tuple[int, ...], dtype: str, buffer: int) -> int:
        text = builder.CreateString(name)
        sizes = builder.CreateNumpyVector(np.asarray(shape, np.int32))
        tflite.TensorStart(builder)
        tflite.TensorAddShape(builder, sizes)
        tflite.TensorAddType(builder, _TYPES[dtype])
        tflite.TensorAddBuffer(builder, buffer)
        tflite.TensorAddName(builder, text)
        return int(tflite.TensorEnd(builder))

    @staticmethod
    def _code(builder: Any, code: int) -> int:
        tflite.OperatorCodeStart(builder)
        # Readers look at the old 8-bit field for every code that fits into it.
        tflite.OperatorCodeAddDeprecatedBuiltinCode(builder, code)
        tflite.OperatorCodeAddBuiltinCode(builder, code)
        return int(tflite.OperatorCodeEnd(builder))

    def _operator(self, builder: Any, number: int) -> int:
        _, inputs, outputs, options = self.operators[number]
        ends = [builder.CreateNumpyVector(np.asarray(side, np.int32)) for side in (inputs, outputs)]
        kind, table = options(builder)
        tflite.OperatorStart(builder)
        tflite.OperatorAddOpcodeIndex(builder, number)
        tflite.OperatorAddInputs(builder, ends[0])
        tflite.OperatorAddOutputs(builder, ends[1])
        if kind:
            tflite.OperatorAddBuiltinOptionsType(builder, kind)
            tflite.OperatorAddBuiltinOptions(builder, table)
        return int(tflite.OperatorEnd(builder))


def _offsets(builder: Any, items: list[int]) -> int:
    builder.StartVector(4, len(items), 4)
    for item in reversed(items):
        builder.PrependUOffsetTRelative(item)
    return int(builder.EndVector())
