"""A notice inside an H.264 stream: supplemental information that travels with the key frames.

It reaches everybody who gets the packets, by whatever protocol, and is lost when they are encoded anew
(ITU-T H.264, 7.3.2.3 and D.1.7, user data unregistered).
"""

from typing import Any
from uuid import UUID

from av.packet import Packet

NOTICE_UUID = UUID("8f3c1d5e-6a42-4b77-9d0e-2c51a7f0b9e4")
"""By which our notices are told from those of others; drawn at random once."""
_START = b"\x00\x00\x01"
_SEI, _USER_DATA = 6, 5
_FIRST_SLICE, _LAST_SLICE = 1, 5
_STOP = b"\x80"


def notice_unit(content: bytes) -> bytes:
    """The NAL unit of a notice in Annex B, start code included."""
    body = NOTICE_UUID.bytes + content
    size = b"\xff" * (len(body) // 255) + bytes([len(body) % 255])
    return b"\x00" + _START + bytes([_SEI]) + _escaped(bytes([_USER_DATA]) + size + body + _STOP)


def with_unit(data: bytes, unit: bytes) -> bytes:
    """An access unit in Annex B with a unit before its first slice, behind parameter sets and whatever else.

    One without a slice is given back as it is.
    """
    at = data.find(_START)
    while 0 <= at < len(data) - 3:
        if _FIRST_SLICE <= data[at + 3] & 31 <= _LAST_SLICE:
            if at > 0 and data[at - 1] == 0:
                at -= 1
            return data[:at] + unit + data[at:]
        at = data.find(_START, at + 3)
    return data


def noted(packet: Any, unit: bytes) -> Any:
    """The packet with a unit in it if it is a key frame, else the packet itself."""
    if not packet.is_keyframe:
        return packet
    twin = Packet(with_unit(bytes(packet), unit))
    twin.pts, twin.dts, twin.duration = packet.pts, packet.dts, packet.duration
    if packet.time_base is not None:
        twin.time_base = packet.time_base
    twin.is_keyframe = True
    return twin


def _escaped(body: bytes) -> bytes:
    """The bytes with emulation prevention: no start code may seem to be in them."""
    result, zeros = bytearray(), 0
    for byte in body:
        if zeros == 2 and byte <= 3:
            result.append(3)
            zeros = 0
        result.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(result)
