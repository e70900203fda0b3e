"""Networks in half precision as networks in single precision: rewritten in memory, the file untouched.

Half precision ends at 65504: an intermediate value beyond is infinite, and the picture black or noise. The
same weights in float32 give what was meant. Field numbers are those of
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from livefusion.core.errors import ModelError
from livefusion.inference.onnx_graph import AGAIN
from livefusion.inference.vet import LARGEST
from livefusion.inference.wire import (
    LENGTH,
    VARINT,
    Field,
    Span,
    WireError,
    WireFile,
    varint,
)

_HALF, _SINGLE = 10, 1
_MARK: Final = b"::float32"
"""What a tensor that crosses the border of the graph in halves is called inside, behind its name."""
_TYPES: Final = frozenset({b"to", b"dtype", b"output_dtype", b"output_datatype"})
"""Attributes that name a type: of Cast, RandomNormal, EyeLike, QuantizeLinear and their like."""

Chunks = list[bytes]


def widen(content: bytes, name: str) -> bytes:
    """A network in float32, which takes and gives what the one in ``content`` does, in the same types.

    Weights, constants and casts in float16 are float32 then; what crosses the border of the graph in float16
    is cast there. ``ModelError`` if it would be larger than a file may be, or cannot be read; ``name`` is for
    messages.
    """
    try:
        changed = _Widener(content).model()
    except (WireError, ValueError, OverflowError, RecursionError) as error:
        raise ModelError(f"{name} is no ONNX network that can be read ({error})", AGAIN) from error
    size = sum(map(len, changed))
    if size > LARGEST:
        raise ModelError(f"{name} would have {size / 1e9:.1f} GB in fp32", "use a file in fp32, or a GPU")
    return b"".join(changed)


class _Widener:
    """Goes through a message once; parts of it that need no change are passed on as they are.

    Messages are lists of pieces, joined but at the end: they hold half a gigabyte, several levels deep.
    """

    def __init__(self, content: bytes) -> None:
        self._wire = WireFile(io.BytesIO(content), len(content))
        self._inside: dict[bytes, bytes] = {}

    def model(self) -> Chunks:
        def change(part: Field) -> Chunks | None:
            if part.number == 7:
                return self._outermost(part.span)
            return self._each(part.span, self._in_function) if part.number == 25 else None

        return self._each(self._wire.whole, change)

    def _outermost(self, span: Span) -> Chunks:
        """The graph itself, with casts at its border. Nodes run in the order in which they stand."""
        taken, given = self._border(span)
        self._inside = {name: name + _MARK for name in taken | given}

        def change(part: Field) -> Chunks | None:
            if part.number in {11, 12} and self._name(part.span) in self._inside:
                return None
            return self._in_graph(part)

        before = [_cast(name, name + _MARK, _SINGLE) for name in sorted(taken)]
        after = [_cast(name + _MARK, name, _HALF) for name in sorted(given)]
        return [*before, *self._each(span, change), *after]

    def _border(self, graph: Span) -> tuple[set[bytes], set[bytes]]:
        """Inputs and outputs in halves. Old files list weights among the inputs, which are none."""
        border: dict[int, set[bytes]] = {11: set(), 12: set()}
        weights = set()
        for part in self._wire.fields(graph):
            if part.number == 5:
                weights.add(self._name(part.span, 8))
            elif part.number in border and self._is_half(part.span):
                border[part.number].add(self._name(part.span))
        return border[11] - weights, border[12]

    def _in_graph(self, part: Field) -> Chunks | None:
        match part.number:
            case 1:
                return self._each(part.span, self._in_node)
            case 5:
                return self._tensor(part.span)
            case 11 | 12 | 13:
                return self._each(part.span, partial(self._in_value, name=1))
            case 15:
                return self._each(part.span, self._in_sparse)
        return None

    def _in_function(self, part: Field) -> Chunks | None:
        """Nodes and values of a function, whose names are its own."""
        inside, self._inside = self._inside, {}
        try:
            if part.number == 7:
                return self._each(part.span, self._in_node)
            return self._each(part.span, self._in_value) if part.number == 12 else None
        finally:
            self._inside = inside

    def _in_node(self, part: Field) -> Chunks | None:
        if part.number in {1, 2}:
            name = self._wire.content(part)
            return [self._inside.get(name, name)]
        return self._attribute(part.span) if part.number == 5 else None

    def _attribute(self, span: Span) -> Chunks:
        names_type = self._name(span) in _TYPES

        def change(part: Field) -> Chunks | None:
            match part.number:
                case 3 if names_type and part.value == _HALF:
                    return [varint(_SINGLE)]
                case 5 | 10:
                    return self._tensor(part.span)
                case 6 | 11:
                    return self._each(part.span, self._in_graph)
                case 14 | 15:
                    return self._each(part.span, self._in_type)
                case 22 | 23:
                    return self._each(part.span, self._in_sparse)
            return None

        return self._each(span, change)

    def _in_value(self, part: Field, name: int = 0) -> Chunks | None:
        if part.number == name:
            called = self._wire.content(part)
            return [self._inside.get(called, called)]
        return self._each(part.span, self._in_type) if part.number == 2 else None

    def _in_type(self, part: Field) -> Chunks | None:
        """The type of a tensor, also of those of a sequence or of one that may be missing."""
        if part.number in {1, 8}:
            return self._each(part.span, _in_tensor_type)
        if part.number in {4, 9}:
            return self._each(part.span, lambda one: self._each(one.span, self._in_type))
        return None

    def _in_sparse(self, part: Field) -> Chunks | None:
        return self._tensor(part.span) if part.number == 1 else None

    def _tensor(self, span: Span) -> Chunks:
        """A tensor of weights; its numbers come as raw bytes, or as bits of halves in whole numbers."""
        fields = list(self._wire.fields(span))
        if not any(part.number == 2 and part.value == _HALF for part in fields):
            return self._each(span, self._in_names)
        halves = [np.frombuffer(self._wire.content(part), "<f2") for part in fields if part.number == 9]
        bits = [number for part in fields if part.number == 5 for number in self._wire.packed(part)]
        values = np.concatenate([*halves, np.array(bits, "<u2").view("<f2")])
        raw = values.astype("<f4").tobytes()
        kept = self._each(span, self._in_names, without=frozenset({2, 5, 9}))
        return [*kept, _tag(2, VARINT), varint(_SINGLE), _tag(9, LENGTH), varint(len(raw)), raw]

    def _in_names(self, part: Field) -> Chunks | None:
        if part.number != 8:
            return None
        name = self._wire.content(part)
        return [self._inside.get(name, name)]

    def _each(
        self,
        span: Span,
        change: Callable[[Field], Chunks | None],
        *,
        without: frozenset[int] = frozenset(),
    ) -> Chunks:
        """A message whose parts hold what ``change`` makes of them, what they held where that is None."""
        made: Chunks = []
        for part in self._wire.fields(span):
            if part.number in without:
                continue
            content = change(part)
            if part.kind == LENGTH:
                pieces = [self._wire.content(part)] if content is None else content
                made += [_tag(part.number, LENGTH), varint(sum(map(len, pieces))), *pieces]
            elif part.kind == VARINT:
                number = [varint(part.value)] if content is None else content
                made += [_tag(part.number, VARINT), *number]
            else:
                made += [_tag(part.number, part.kind), self._wire.content(part)]
        return made

    def _is_half(self, value: Span) -> bool:
        """Whether an input or output of the graph is a tensor of halves."""
        return any(
            part.number == 1 and part.value == _HALF
            for kind in self._parts(value, 2)
            for tensor in self._parts(kind.span, 1)
            for part in self._wire.fields(tensor.span)
        )

    def _name(self, span: Span, number: int = 1) -> bytes:
        return next((self._wire.content(part) for part in self._parts(span, number)), b"")

    def _parts(self, span: Span, number: int) -> list[Field]:
        fields = self._wire.fields(span)
        return [part for part in fields if part.number == number and part.kind == LENGTH]


def _in_tensor_type(part: Field) -> Chunks | None:
    return [varint(_SINGLE)] if part.number == 1 and part.value == _HALF else None


def _tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def _text(number: int, content: bytes) -> bytes:
    return _tag(number, LENGTH) + varint(len(content)) + content


def _cast(source: bytes, target: bytes, to: int) -> bytes:
    """A node of a graph that casts a tensor to another type."""
    attribute = _text(1, b"to") + _tag(3, VARINT) + varint(to) + _tag(20, VARINT) + varint(2)
    node = _text(1, source) + _text(2, target) + _text(4, b"Cast") + _text(5, attribute)
    return _text(1, node)
