"""Where a stream says what its pictures are like: its parameter sets.

Nothing is understood here: the bytes are compared with the last ones, and only when they differ is the
picture looked at.
"""

import re
from collections.abc import Callable, Iterator

_START = re.compile(rb"\x00\x00\x01")
_H264_KINDS = frozenset({7})  # SPS; a PPS changes neither size nor colours
_HEVC_KINDS = frozenset({33})  # SPS
_AV1_SEQUENCE_HEADER = 1
HEAD_BYTES = 4096
"""Bytes of a packet in which its parameter sets begin: they come first, and a picture is long."""
_VP9_HEADER = 10
"""Bytes of a VP9 key frame that hold its profile, colours and size."""


def parameters_of(codec: str, data: bytes) -> bytes:
    """The parameter sets at the head of a packet; empty if it has none. H.264 and HEVC are in Annex B."""
    return _READERS[codec](data)


def _h264(data: bytes) -> bytes:
    return b"".join(unit for unit in _units(data) if unit and unit[0] & 31 in _H264_KINDS)


def _hevc(data: bytes) -> bytes:
    return b"".join(unit for unit in _units(data) if unit and unit[0] >> 1 & 63 in _HEVC_KINDS)


def _units(data: bytes) -> Iterator[bytes]:
    """The NAL units that begin within the head of a packet, the last one cut off where the head ends."""
    head = data[:HEAD_BYTES]
    starts = [match.end() for match in _START.finditer(head)]
    for start, end in zip(starts, [*starts[1:], len(head) + 3], strict=True):
        yield head[start : end - 3].rstrip(b"\x00")


def _vp9(data: bytes) -> bytes:
    is_key = len(data) > _VP9_HEADER and data[1:4] == b"\x49\x83\x42"
    return data[:_VP9_HEADER] if is_key else b""


def _av1(data: bytes) -> bytes:
    """The sequence header among the units at the head of a temporal unit."""
    at = 0
    while at < min(len(data), HEAD_BYTES):
        kind, extended, sized = data[at] >> 3 & 15, data[at] >> 2 & 1, data[at] >> 1 & 1
        at += 1 + extended
        length, at = _leb128(data, at) if sized else (len(data) - at, at)
        if kind == _AV1_SEQUENCE_HEADER:
            return data[at : at + length]
        at += length
    return b""


def _leb128(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where the data goes on behind it."""
    value = 0
    for index, byte in enumerate(data[at : at + 8]):
        value |= (byte & 127) << 7 * index
        if byte < 128:
            return value, at + index + 1
    return 0, len(data)


_READERS: dict[str, Callable[[bytes], bytes]] = {"h264": _h264, "hevc": _hevc, "vp9": _vp9, "av1": _av1}
