"""Protocol Buffers on disk, field by field: lengths are read, and what they span is left where it lies.

The package ``onnx`` would take the whole file into memory, twice, to say what two kilobytes of it say; and a
file that is not what it seems is told from its first broken length. See
https://protobuf.dev/programming-guides/encoding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_FIXED = {FIXED64: 8, FIXED32: 4}
_LONGEST_VARINT = 10
_LONGEST_HEAD = 2 * _LONGEST_VARINT
_WIDTH = 64


class WireError(ValueError):
    """The bytes are no message; the text says where and why."""


class ShortError(WireError):
    """A length reaches beyond the end of the file: the rest is missing."""


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes ``start`` to ``end``, which is not included, of a file."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes that is."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Field:
    """One field: ``value`` of a varint, else ``span``, where its content lies."""

    number: int
    kind: int
    span: Span
    value: int = 0

    @property
    def signed(self) -> int:
        """The value of an int32 or int64, which counts down from the top of 64 bits below zero."""
        return self.value - (1 << _WIDTH) if self.value >> (_WIDTH - 1) else self.value


class WireFile:
    """A message in an open file; reads a few bytes at each field and nothing else."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.whole = Span(0, size)

    def fields(self, within: Span) -> Iterator[Field]:
        """The fields of the message that fills ``within``.

        ``WireError`` if it is none, ``ShortError`` if it goes on beyond the end of the file.
        """
        at = within.start
        while at < within.end:
            field = self._field(at, within)
            yield field
            at = field.span.end

    def content(self, field: Field) -> bytes:
        """What a field of a length holds."""
        return self.read(field.span)

    def text(self, field: Field, most: int) -> str:
        """The first ``most`` bytes of the text that a field holds; letters that are none come as marks."""
        start, end = field.span.start, field.span.end
        return self.read(Span(start, min(end, start + most))).decode("utf-8", errors="replace")

    def packed(self, field: Field) -> list[int]:
        """The whole numbers of a repeated field: one, or several packed together."""
        if field.kind != LENGTH:
            return [field.signed]
        content, at, numbers = self.content(field), 0, []
        while at < len(content):
            value, at = _varint(content, at, field.span.start)
            numbers.append(Field(field.number, VARINT, field.span, value).signed)
        return numbers

    def read(self, span: Span) -> bytes:
        """The bytes of a span."""
        self._file.seek(span.start)
        content = self._file.read(span.size)
        if len(content) != span.size:
            raise ShortError(f"it ends at byte {span.start + len(content)} of {span.end}")
        return content

    def _field(self, at: int, within: Span) -> Field:
        self._file.seek(at)
        head = self._file.read(min(_LONGEST_HEAD, within.end - at))
        tag, used = _varint(head, 0, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise WireError(f"there is no field 0, but one begins at byte {at}")
        if kind == VARINT:
            value, used = _varint(head, used, at)
            return Field(number, kind, Span(at, at + used), value)
        if kind == LENGTH:
            size, used = _varint(head, used, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise WireError(f"a field of unknown kind {kind} begins at byte {at}")
        return Field(number, kind, self._inside(Span(at + used, at + used + size), within))

    def _inside(self, span: Span, within: Span) -> Span:
        if span.end > self.whole.end:
            raise ShortError(f"it ends at byte {self.whole.end} of at least {span.end}")
        if span.end > within.end:
            raise WireError(f"a field at byte {span.start} reaches out of its message")
        return span


def varint(value: int) -> bytes:
    """A whole number, 0 or more, in as few bytes as it takes."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _varint(content: bytes, at: int, where: int) -> tuple[int, int]:
    """The number at ``at``, and where it ends."""
    value = 0
    for index, byte in enumerate(content[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & ((1 << _WIDTH) - 1), at + index + 1
    raise WireError(f"a number at byte {where} does not end")
