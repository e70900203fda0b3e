"""What an ONNX file says of itself, read from its bytes alone: nothing is loaded, executed or trusted.

The file is a protobuf message (``onnx.proto3``); only the fields that are needed are looked at, and of the
weights only where they lie. So a file of half a gigabyte is described in milliseconds.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import ModelError
from livefusion.inference.registry import TensorSpec

Bytes = memoryview

DTYPES: Final = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
}
"""``TensorProto.DataType`` to the names of NumPy; other types are of no network that is known here."""
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_RAW_DATA, _DATA_LOCATION, _EXTERNAL = 9, 14, 1


@dataclass(frozen=True, slots=True)
class Initializer:
    """A tensor of weights: ``start`` and ``size`` are its bytes in the file, 0 if they are not in one run."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int
    external: bool = False

    def read(self, path: Path) -> npt.NDArray[Any]:
        """The values. ``ModelError`` if they are not in the file, or not as many as the shape says."""
        wanted = prod(self.shape) * np.dtype(self.dtype).itemsize
        if self.size != wanted:
            raise ModelError(f"tensor {self.name} of {path.name} cannot be read", "export the model anew")
        with path.open("rb") as file:
            file.seek(self.start)
            values = np.frombuffer(file.read(wanted), np.dtype(self.dtype).newbyteorder("<"))
        return values.reshape(self.shape).astype(self.dtype)


@dataclass(frozen=True, slots=True)
class Node:
    """An operation of the graph."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnnxGraph:
    """The outside of a network, its operations, and where its weights lie.

    ``inputs`` are those that a caller has to give: initializers that are listed as inputs are left out.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    initializers: tuple[Initializer, ...]
    nodes: tuple[Node, ...]
    opsets: dict[str, int]
    producer: str = ""

    @property
    def consumed(self) -> frozenset[str]:
        """Names of all tensors that an operation reads."""
        return frozenset(name for node in self.nodes for name in node.inputs)


def read_graph(path: Path) -> OnnxGraph:
    """Describe a file. ``ModelError`` if it cannot be read, is cut short, or is no ONNX network."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            view = memoryview(content)
            try:
                return _model(view)
            finally:
                view.release()
    except (OSError, ValueError, IndexError, KeyError, OverflowError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is damaged"
        raise ModelError(
            f"{path} is no ONNX network that can be read ({reason})", "get the file again"
        ) from error


def _model(view: Bytes) -> OnnxGraph:
    graph: tuple[int, int] | None = None
    opsets: dict[str, int] = {}
    producer = ""
    for number, kind, value in _fields(view, 0, len(view)):
        if number == 7 and kind == _LENGTH:
            graph = value
        elif number == 8 and kind == _LENGTH:
            domain, version = _opset(view, value)
            opsets[domain] = version
        elif number == 2 and kind == _LENGTH:
            producer = _text(view, value)
    if graph is None or not opsets:
        raise ValueError("no graph")
    return _graph(view, graph, opsets, producer)


def _graph(view: Bytes, span: tuple[int, int], opsets: dict[str, int], producer: str) -> OnnxGraph:
    nodes, weights, inputs, outputs = [], [], [], []
    for number, kind, value in _fields(view, *span):
        if kind != _LENGTH:
            continue
        if number == 1:
            nodes.append(_node(view, value))
        elif number == 5:
            weights.append(_initializer(view, value))
        elif number == 11:
            inputs.append(_value_info(view, value))
        elif number == 12:
            outputs.append(_value_info(view, value))
    known = {weight.name for weight in weights}
    given = tuple(spec for spec in inputs if spec.name not in known)
    if not given or not outputs:
        raise ValueError("no inputs or outputs")
    return OnnxGraph(given, tuple(outputs), tuple(weights), tuple(nodes), opsets, producer)


def _node(view: Bytes, span: tuple[int, int]) -> Node:
    inputs, outputs, op, domain = [], [], "", ""
    for number, kind, value in _fields(view, *span):
        if kind != _LENGTH:
            continue
        if number == 1:
            inputs.append(_text(view, value))
        elif number == 2:
            outputs.append(_text(view, value))
        elif number == 4:
            op = _text(view, value)
        elif number == 7:
            domain = _text(view, value)
    return Node(op, domain, tuple(inputs), tuple(outputs))


def _initializer(view: Bytes, span: tuple[int, int]) -> Initializer:
    shape: list[int] = []
    name, kind_of_data, external = "", 0, False
    runs: dict[int, tuple[int, int]] = {}
    for number, kind, value in _fields(view, *span):
        if number == 1:
            shape += [value] if kind == _VARINT else list(_varints(view, value))
        elif number == 2 and kind == _VARINT:
            kind_of_data = value
        elif number == 8 and kind == _LENGTH:
            name = _text(view, value)
        elif number == _DATA_LOCATION and kind == _VARINT:
            external = value == _EXTERNAL
        elif kind == _LENGTH:
            runs[number] = value
    # Packed float_data is laid out like raw data; packed whole numbers are not.
    wide = {1: 4, 11: 10}.get(kind_of_data)
    run = runs.get(_RAW_DATA) or (runs.get(wide) if wide else None) or (0, 0)
    dtype = DTYPES.get(kind_of_data, "uint8")
    return Initializer(name, dtype, tuple(shape), run[0], run[1] - run[0], external)


def _value_info(view: Bytes, span: tuple[int, int]) -> TensorSpec:
    name, dtype = "", ""
    shape: list[int | str] = []
    for number, kind, value in _fields(view, *span):
        if number == 1 and kind == _LENGTH:
            name = _text(view, value)
        elif number == 2 and kind == _LENGTH:  # TypeProto
            for inner, inner_kind, tensor in _fields(view, *value):
                if inner == 1 and inner_kind == _LENGTH:  # tensor_type
                    dtype, shape = _tensor_type(view, tensor)
    return TensorSpec(name, dtype, tuple(shape), "")


def _tensor_type(view: Bytes, span: tuple[int, int]) -> tuple[str, list[int | str]]:
    dtype = ""
    shape: list[int | str] = []
    for number, kind, value in _fields(view, *span):
        if number == 1 and kind == _VARINT:
            dtype = DTYPES.get(value, f"type {value}")
        elif number == 2 and kind == _LENGTH:
            for inner, _, dim in _fields(view, *value):
                if inner == 1:
                    shape.append(_dimension(view, dim, len(shape)))
    return dtype, shape


def _dimension(view: Bytes, span: tuple[int, int], axis: int) -> int | str:
    for number, kind, value in _fields(view, *span):
        if number == 1 and kind == _VARINT:
            return int(value) if value < 1 << 62 else f"axis{axis}"  # some write −1 for an axis of any size
        if number == 2 and kind == _LENGTH:
            return _text(view, value) or f"axis{axis}"
    return f"axis{axis}"


def _opset(view: Bytes, span: tuple[int, int]) -> tuple[str, int]:
    domain, version = "", 0
    for number, kind, value in _fields(view, *span):
        if number == 1 and kind == _LENGTH:
            domain = _text(view, value)
        elif number == 2 and kind == _VARINT:
            version = value
    return domain, version


def _fields(view: Bytes, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
    """(number, wire type, value) of each field; the value of a run of bytes is its (start, stop)."""
    at = start
    while at < stop:
        key, at = _varint(view, at, stop)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ValueError("field 0")
        value: Any = None
        if kind == _VARINT:
            value, at = _varint(view, at, stop)
        elif kind == _LENGTH:
            size, at = _varint(view, at, stop)
            value, at = (at, at + size), at + size
        elif kind in {_FIXED32, _FIXED64}:
            at += 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"wire type {kind}")
        if at > stop:
            raise ValueError("cut short")
        yield number, kind, value


def _varint(view: Bytes, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= stop or shift > 63:
            raise ValueError("cut short")
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varints(view: Bytes, span: tuple[int, int]) -> Iterator[int]:
    at, stop = span
    while at < stop:
        value, at = _varint(view, at, stop)
        yield value


def _text(view: Bytes, span: tuple[int, int]) -> str:
    return bytes(view[span[0] : span[1]]).decode()
