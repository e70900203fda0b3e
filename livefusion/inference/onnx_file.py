"""What an ONNX file says of itself, read from its bytes alone: nothing is loaded, executed or trusted.

Only heads are read, of the weights where they lie; so a file of half a gigabyte is described in
milliseconds. Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from livefusion.core.errors import ModelError
from livefusion.inference.onnx_graph import AGAIN, Initializer, Node, OnnxGraph
from livefusion.inference.registry import TensorSpec
from livefusion.inference.wire import LENGTH, Field, ShortError, Span, WireError, WireFile

DTYPES: Final = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    8: "string",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
"""``TensorProto.DataType`` to the names of NumPy, and two that it lacks."""

# Subgraphs of If and Loop lie in attributes of nodes, and in those again. Nobody nests them so deeply.
_DEEPEST = 16
# The largest graphs that are passed round have some thousands of nodes; each takes about a kilobyte here.
_MOST_NODES = 100_000
_LONGEST_NAME = 1024
_RAW_DATA, _EXTERNAL = 9, 1
# Packed numbers of these fields are laid out like raw data, if they are of the same type.
_LIKE_RAW = {4: "float32", 10: "float64"}


def read_graph(path: Path) -> OnnxGraph:
    """Describe a file. ``ModelError`` if it cannot be read, is cut short, or is no ONNX network."""
    try:
        with path.open("rb") as file:
            return _Reader(WireFile(file, path.stat().st_size)).model()
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})", "see that the file is there") from error
    except ShortError as error:
        raise ModelError(f"{path.name} is cut short: {error}", AGAIN) from error
    except WireError as error:
        raise ModelError(f"{path.name} is no ONNX network that can be read ({error})", AGAIN) from error


class _Reader:
    """Goes through a file once and collects what lies in subgraphs on the way."""

    def __init__(self, wire: WireFile) -> None:
        self._wire = wire
        self._count = 0
        self._inner: list[Node] = []
        self._constants: list[Initializer] = []
        self._functions: set[str] = set()
        self._sizes: list[int] = []

    def model(self) -> OnnxGraph:
        body: Field | None = None
        ir_version, producer = 0, ""
        opsets: dict[str, int] = {}
        metadata: dict[str, str] = {}
        for part in self._wire.fields(self._wire.whole):
            match part.number:
                case 1:
                    ir_version = part.signed
                case 2:
                    producer = self._text(part)
                case 7:
                    body = part
                case 8:
                    opsets.update([self._opset(part)])
                case 14:
                    metadata.update([self._pair(part)])
                case 25:
                    self._function(part)
        if body is None or not opsets:
            raise WireError("there is no graph in it")
        graph = self._graph(body.span)
        return OnnxGraph(
            *graph,
            opsets=opsets,
            producer=producer,
            ir_version=ir_version,
            metadata=metadata,
            inner=tuple(self._inner),
            constants=tuple(self._constants),
            functions=frozenset(self._functions),
            output_sizes=tuple(self._sizes),
        )

    def _graph(
        self, span: Span
    ) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...], tuple[Initializer, ...], tuple[Node, ...]]:
        nodes, weights, inputs, outputs = [], [], [], []
        for part in self._parts(span):
            match part.number:
                case 1:
                    nodes.append(self._node(part.span, 0))
                case 5:
                    weights.append(self._tensor(part.span))
                case 11:
                    inputs.append(self._value(part.span)[0])
                case 12:
                    output, sizes = self._value(part.span)
                    outputs.append(output)
                    self._sizes += sizes
        known = {weight.name for weight in weights}
        given = tuple(spec for spec in inputs if spec.name not in known)
        if not given or not outputs:
            raise WireError("it has no inputs or no outputs")
        return given, tuple(outputs), tuple(weights), tuple(nodes)

    def _node(self, span: Span, depth: int) -> Node:
        self._count += 1
        if self._count > _MOST_NODES:
            raise WireError(f"it has more than {_MOST_NODES} nodes")
        inputs, outputs, op, domain = [], [], "", ""
        for part in self._parts(span):
            match part.number:
                case 1:
                    inputs.append(self._text(part))
                case 2:
                    outputs.append(self._text(part))
                case 4:
                    op = self._text(part)
                case 5:
                    self._attribute(part.span, depth)
                case 7:
                    domain = self._text(part)
        return Node(op, domain, tuple(inputs), tuple(outputs))

    def _attribute(self, span: Span, depth: int) -> None:
        """Keep the tensors and the nodes of the subgraphs that an attribute holds."""
        for part in self._parts(span):
            if part.number in {5, 10}:
                self._constants.append(self._tensor(part.span))
            elif part.number in {6, 11}:
                if depth == _DEEPEST:
                    raise WireError("its subgraphs are nested too deeply")
                self._subgraph(part.span, depth + 1)

    def _subgraph(self, span: Span, depth: int) -> None:
        for part in self._parts(span):
            if part.number == 1:
                self._inner.append(self._node(part.span, depth))
            elif part.number == 5:
                self._constants.append(self._tensor(part.span))

    def _function(self, function: Field) -> None:
        for part in self._parts(function.span):
            if part.number == 7:
                self._inner.append(self._node(part.span, 0))
            elif part.number == 10:
                self._functions.add(self._text(part))

    def _tensor(self, span: Span) -> Initializer:
        name, dtype, external = "", "", False
        shape: list[int] = []
        runs: dict[int, Span] = {}
        for part in self._wire.fields(span):
            if part.number == 1:
                shape += self._wire.packed(part)
            elif part.number == 2:
                dtype = _dtype(part)
            elif part.number == 8:
                name = self._text(part)
            elif part.number == 14:
                external = part.value == _EXTERNAL
            elif part.kind == LENGTH:
                runs[part.number] = part.span
        if any(side < 0 for side in shape):
            raise WireError(f"tensor {name} has the shape {shape}")
        run = next((runs[number] for number in runs if _is_plain(number, dtype)), Span(0, 0))
        return Initializer(name, dtype, tuple(shape), run.start, run.size, external)

    def _value(self, span: Span) -> tuple[TensorSpec, list[int]]:
        """An input or output, and where its sizes stand."""
        name, dtype = "", ""
        axes: list[tuple[int | str, int]] = []
        for part in self._parts(span):
            if part.number == 1:
                name = self._text(part)
            elif part.number == 2:
                for kind in self._parts(part.span):
                    if kind.number == 1:
                        dtype, axes = self._tensor_type(kind.span)
        sizes = [where for axis, where in axes if isinstance(axis, int)]
        return TensorSpec(name, dtype, tuple(axis for axis, _ in axes), ""), sizes

    def _tensor_type(self, span: Span) -> tuple[str, list[tuple[int | str, int]]]:
        dtype = ""
        axes: list[Field] = []
        for part in self._wire.fields(span):
            if part.number == 1:
                dtype = _dtype(part)
            elif part.number == 2:
                axes = [axis for axis in self._parts(part.span) if axis.number == 1]
        return dtype, [self._axis(axis.span, index) for index, axis in enumerate(axes)]

    def _axis(self, span: Span, index: int) -> tuple[int | str, int]:
        for part in self._wire.fields(span):
            if part.number == 1 and part.signed > 0:  # some write −1 for an axis of any size
                return part.signed, part.span.start
            if part.number == 2:
                return self._text(part) or f"axis{index}", span.start
        return f"axis{index}", span.start

    def _opset(self, field_: Field) -> tuple[str, int]:
        domain, version = "", 0
        for part in self._wire.fields(field_.span):
            if part.number == 1:
                domain = self._text(part)
            elif part.number == 2:
                version = part.signed
        return domain, version

    def _pair(self, field_: Field) -> tuple[str, str]:
        texts = {part.number: self._text(part) for part in self._parts(field_.span)}
        return texts.get(1, ""), texts.get(2, "")

    def _parts(self, span: Span) -> Iterator[Field]:
        """The fields that have a length, as all messages and texts do."""
        return (part for part in self._wire.fields(span) if part.kind == LENGTH)

    def _text(self, part: Field) -> str:
        if part.kind != LENGTH:
            raise WireError(f"there is a number for a name at byte {part.span.start}")
        return self._wire.text(part, _LONGEST_NAME)


def _is_plain(number: int, dtype: str) -> bool:
    """Whether a data field is laid out as the numbers are in memory; packed whole numbers are not."""
    return number == _RAW_DATA or _LIKE_RAW.get(number) == dtype


def _dtype(part: Field) -> str:
    return DTYPES.get(part.value, f"type {part.value}")
