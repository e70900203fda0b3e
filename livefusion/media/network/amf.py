"""AMF0, in which RTMP writes its commands: numbers, booleans, texts, objects and null."""

import struct
from typing import Any, Final

_NUMBER, _BOOLEAN, _TEXT, _OBJECT, _NULL = 0, 1, 2, 3, 5
_END: Final = b"\0\0\x09"


def encode(value: Any) -> bytes:
    """A float, bool, str, None, or a dict of them with str keys."""
    match value:
        case None:
            return bytes([_NULL])
        case bool():
            return bytes([_BOOLEAN, value])
        case float():
            return bytes([_NUMBER]) + struct.pack(">d", value)
        case str():
            return bytes([_TEXT]) + _text(value)
        case dict():
            fields = b"".join(_text(name) + encode(one) for name, one in value.items())
            return bytes([_OBJECT]) + fields + _END
    raise TypeError(f"AMF0 has no {type(value).__name__} here")


def decode(data: bytes) -> list[Any]:
    """The values one after the other, as far as they are understood."""
    values: list[Any] = []
    place = 0
    while place < len(data):
        try:
            value, place = _decode(data, place)
        except (IndexError, struct.error, ValueError, RecursionError):
            break
        values.append(value)
    return values


def _decode(data: bytes, place: int) -> tuple[Any, int]:
    kind, place = data[place], place + 1
    match kind:
        case 0:
            return struct.unpack_from(">d", data, place)[0], place + 8
        case 1:
            return bool(data[place]), place + 1
        case 2:
            return _decode_text(data, place)
        case 3:
            return _decode_fields(data, place)
        case 8:
            return _decode_fields(data, place + 4)
        case 5 | 6:
            return None, place
    raise ValueError(f"AMF0 type {kind}")


def _decode_fields(data: bytes, place: int) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    while data[place : place + 3] != _END:
        name, place = _decode_text(data, place)
        fields[name], place = _decode(data, place)
    return fields, place + 3


def _decode_text(data: bytes, place: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">H", data, place)
    end = place + 2 + length
    if end > len(data):
        raise ValueError("AMF0 is cut short")
    return data[place + 2 : end].decode("utf-8", "replace"), end


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">H", len(data)) + data
