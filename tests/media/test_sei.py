"""A notice goes in before the first slice of a key frame, and comes out again."""

from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from av.packet import Packet
from hypothesis import given
from hypothesis import strategies as st

from livefusion.media.encode.sei import NOTICE_UUID, noted, notice_unit, with_unit
from livefusion.media.inspect import Inspection

pytestmark = pytest.mark.unit

SPS, PPS, SLICE, KEY_SLICE = (b"\0\0\0\1" + bytes([kind]) + b"\x80" for kind in (0x67, 0x68, 0x41, 0x65))
UNIT = notice_unit(b"{}")


@given(st.binary(max_size=600))
def test_no_start_code_is_ever_seen_in_a_notice(content: bytes) -> None:
    unit = notice_unit(content)
    body = unit[4:]
    assert unit[:5] == b"\0\0\0\1\6"
    assert all(start not in body for start in (b"\0\0\0", b"\0\0\1", b"\0\0\2"))
    plain = body.replace(b"\0\0\3", b"\0\0")
    assert NOTICE_UUID.bytes + content in plain


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (SPS + PPS + KEY_SLICE, SPS + PPS + UNIT + KEY_SLICE),
        (KEY_SLICE + SLICE, UNIT + KEY_SLICE + SLICE),
        (KEY_SLICE[1:], UNIT + KEY_SLICE[1:]),
        (SPS + PPS, SPS + PPS),
        (b"", b""),
        (b"\0\0\1", b"\0\0\1"),
    ],
)
def test_it_goes_before_the_first_slice(data: bytes, wanted: bytes) -> None:
    assert with_unit(data, UNIT) == wanted


@given(st.binary(max_size=200))
def test_any_bytes_are_left_whole(data: bytes) -> None:
    result = with_unit(data, UNIT)
    assert result in (data, *(data[:at] + UNIT + data[at:] for at in range(len(data))))


def test_only_key_frames_carry_it_and_keep_their_times() -> None:
    packet = Packet(KEY_SLICE)
    packet.pts, packet.dts, packet.time_base = 7, 6, Fraction(1, 30)
    assert noted(packet, UNIT) is packet
    packet.is_keyframe = True
    twin = noted(packet, UNIT)
    assert bytes(twin) == UNIT + KEY_SLICE
    assert (twin.pts, twin.dts, twin.time_base, twin.is_keyframe) == (7, 6, Fraction(1, 30), True)


def test_a_decoder_finds_it(tmp_path: Any) -> None:
    path = tmp_path / "a.mp4"
    unit = notice_unit(b'{"id": "c0de-2a"}')
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        stream.options = {"g": "4", "bf": "0"}
        context = stream.codec_context
        for number in range(8):
            frame = av.VideoFrame.from_ndarray(np.full((96, 64), number * 20, np.uint8), format="yuv420p")
            frame.pts = number
            for packet in context.encode(frame):
                container.mux(_in(stream, noted(packet, unit)))
        for packet in context.encode(None):
            container.mux(_in(stream, noted(packet, unit)))
    inspection = Inspection.open(str(path))
    assert sum(1 for _ in inspection.pictures()) == 8
    assert not inspection.damaged
    inspection.close()


def _in(stream: Any, packet: Any) -> Any:
    packet.stream = stream
    return packet
