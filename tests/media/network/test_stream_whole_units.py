from fractions import Fraction

import av
import pytest
from av.packet import Packet

from livefusion.core.geometry import Size
from livefusion.media.network.whole_units import is_key, is_one_picture, is_whole_sound
from livefusion.testing.media import pattern_picture

pytestmark = pytest.mark.unit

_SIZE = Size(160, 96)
_SPS, _PPS, _AUD, _SEI = b"\0\0\0\1\x67\x42", b"\0\0\0\1\x68\xce", b"\0\0\0\1\x09\xf0", b"\0\0\1\x06\x05\x80"
_IDR, _FIRST, _NEXT = b"\0\0\1\x65\x88", b"\0\0\1\x41\x9a", b"\0\0\1\x41\x40"


def _packet(data: bytes, pts: int | None = 0) -> Packet:
    packet = Packet(data)
    packet.pts = pts
    return packet


def _encoded(slices: int) -> list[Packet]:
    context = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = _SIZE.width, _SIZE.height, "yuv420p"
    context.time_base = Fraction(1, 30)
    context.options = {
        "tune": "zerolatency",
        "x264-params": f"slices={slices}:keyint=5:aud=1:sliced-threads=0",
    }
    packets: list[Packet] = []
    for index in range(12):
        picture = pattern_picture(_SIZE, index)
        picture.pts = index
        packets += context.encode(picture)
    return packets


@pytest.mark.parametrize("slices", [1, 3])
def test_pictures_of_an_encoder(slices: int) -> None:
    packets = _encoded(slices)
    assert all(is_one_picture(one) for one in packets)
    assert [is_key(one) for one in packets] == [one.is_keyframe for one in packets]
    assert 1 < sum(is_key(one) for one in packets) < len(packets)


@pytest.mark.parametrize(
    ("data", "pts", "one", "key"),
    [
        (_AUD + _SPS + _PPS + _SEI + _IDR, 0, True, True),
        (_AUD + _FIRST + _NEXT, 0, True, False),
        (_SPS + _PPS + _FIRST, 0, True, True),  # an open GOP, or one that is refreshed piece by piece
        (_FIRST, None, False, False),
        (_NEXT, 0, False, False),  # the rest of a picture
        (_NEXT + _FIRST, 0, False, False),  # the rest of one and the next
        (_FIRST + _FIRST, 0, False, False),  # two pictures, or two fields
        (_SPS + _PPS, 0, False, True),
        (b"", 0, False, False),
        (b"\0\0\1", 0, False, False),
        (b"\0\0\1\x41", 0, False, False),
    ],
)
def test_what_is_one_picture(data: bytes, pts: int | None, one: bool, key: bool) -> None:
    packet = _packet(data, pts)
    assert (is_one_picture(packet), is_key(packet)) == (one, key)


def _adts(size: int) -> bytes:
    return bytes([0xFF, 0xF1, 0x4C, 0x80 | size >> 11, size >> 3 & 255, (size & 7) << 5 | 0x1F, 0xFC]).ljust(
        size, b"\x55"
    )


@pytest.mark.parametrize(
    ("data", "pts", "whole"),
    [
        (_adts(9), 0, True),
        (_adts(400) + _adts(3000), 0, True),
        (_adts(400), None, False),
        (_adts(400)[:-1], 0, False),
        (_adts(400) + b"\xff", 0, False),
        (b"\x55" + _adts(400), 0, False),
        (b"", 0, False),
        (b"\xff\xf1\x4c\x80\x00\x1f\xfc", 0, True),  # a length of nothing ends the search, too
    ],
)
def test_what_is_whole_sound(data: bytes, pts: int | None, whole: bool) -> None:
    assert is_whole_sound(_packet(data, pts)) is whole
