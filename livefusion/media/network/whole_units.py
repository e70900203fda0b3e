"""Whether packets of a transport stream are whole pictures and whole sound as they come.

FFmpeg's parser gives a picture only once the next one begins, 33 ms late at 30 a second. Most senders put
one access unit into each packet, and then there is nothing to parse (ITU-T H.264, 7.3.1 and 7.3.3;
ISO/IEC 14496-3, 1.A.2 for ADTS).
"""

import re
from collections.abc import Iterator
from typing import Any

_START = re.compile(rb"\x00\x00\x01")
_SLICES = frozenset({1, 2, 5})
_IDR, _PARAMETERS = 5, 7
_FIRST_BLOCK = 0x80
"""``first_mb_in_slice`` is 0, as ue(v)."""
_ADTS_HEADER = 7


def is_one_picture(packet: Any) -> bool:
    """True if exactly one H.264 picture begins in an ``av.Packet``, with its first slice, at a known time."""
    if packet.pts is None:
        return False
    data = bytes(packet)
    slices = [at for at in _units(data) if data[at] & 31 in _SLICES and at + 1 < len(data)]
    begins = [at for at in slices if data[at + 1] & _FIRST_BLOCK]
    return len(begins) == 1 and slices[0] == begins[0]


def is_key(packet: Any) -> bool:
    """True if decoding can begin with an H.264 picture: parameter sets come with it, or it is an IDR."""
    data = bytes(packet)
    for at in _units(data):
        kind = data[at] & 31
        if kind in {_IDR, _PARAMETERS}:
            return True
        if kind in _SLICES:
            return False
    return False


def is_whole_sound(packet: Any) -> bool:
    """True if an ``av.Packet`` is made of whole ADTS frames of AAC, and its time is known."""
    data, at = bytes(packet), 0
    while at + _ADTS_HEADER <= len(data) and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        at += max(_ADTS_HEADER, (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5)
    return packet.pts is not None and at == len(data) > 0


def _units(data: bytes) -> Iterator[int]:
    """Where the header of each NAL unit lies."""
    return (match.end() for match in _START.finditer(data) if match.end() < len(data))
