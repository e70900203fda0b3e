from dataclasses import dataclass

import pytest

from livefusion.media.webrtc.assemble import CAPACITY, CodedPicture, PictureAssembler, is_key

pytestmark = pytest.mark.unit

START = b"\x00\x00\x00\x01"
KEY = START + b"\x67sps" + START + b"\x68pps" + START + b"\x65idr"
DELTA = START + b"\x41slice"


@dataclass
class Packet:
    sequence_number: int
    timestamp: int
    marker: int
    _data: bytes


class Time:
    now = 0

    def __call__(self) -> int:
        return self.now


def numbers(made: list[CodedPicture]) -> list[int]:
    return [picture.rtp_time for picture in made]


class Bench:
    def __init__(self) -> None:
        self.time = Time()
        self.assembler = PictureAssembler(self.time)
        self.key_requests = 0

    def add(self, number: int, rtp_time: int, data: bytes, *, marker: bool = True) -> list[int]:
        pli, made = self.assembler.add(Packet(number % 65536, rtp_time, int(marker), data))
        self.key_requests += pli
        return numbers(made.pictures) if made else []


@pytest.mark.parametrize(
    ("unit", "key"),
    [
        (KEY, True),
        (DELTA, False),
        (START + b"\x65idr", False),
        (START + b"\x09\x10" + KEY, True),
        (b"\x00\x00\x01\x67s\x00\x00\x01\x65i", True),
        (b"", False),
        (b"\x00\x00\x01", False),
    ],
)
def test_what_decoding_can_start_at(unit: bytes, key: bool) -> None:
    assert is_key(unit) is key


def test_a_picture_is_there_with_its_marker() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY[:9], marker=False) == []
    bench.time.now = 5
    assert bench.add(11, 0, KEY[9:]) == [0]
    assert bench.add(12, 3000, DELTA) == [3000]


def test_a_picture_without_a_marker_ends_where_the_time_changes() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY, marker=False) == []
    assert bench.add(11, 3000, DELTA, marker=False) == [0]
    assert bench.add(12, 6000, DELTA) == [3000, 6000]


def test_nothing_comes_before_the_first_key_frame() -> None:
    bench = Bench()
    assert bench.add(10, 0, DELTA) == []
    assert bench.assembler.wants_key
    assert bench.add(11, 3000, KEY) == [3000]
    assert not bench.assembler.wants_key


@pytest.mark.parametrize("first", [10, 65533, 65535])
def test_overtaken_packets_are_put_in_order_across_the_wrap(first: int) -> None:
    bench = Bench()
    assert bench.add(first, 0, KEY) == [0]
    assert bench.add(first + 3, 9000, DELTA) == []
    assert bench.add(first + 2, 6000, DELTA) == []
    assert bench.add(first + 1, 3000, DELTA) == [3000, 6000, 9000]
    assert bench.add(first + 1, 3000, DELTA) == []


def test_a_gap_that_is_given_up_hides_everything_to_the_next_key_frame() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY) == [0]
    assert bench.add(12, 6000, DELTA) == []
    bench.time.now = 40
    assert bench.assembler.blocked_ns == 40
    assert bench.assembler.give_up()
    assert bench.assembler.wants_key
    assert bench.add(13, 9000, DELTA) == []
    assert bench.add(11, 3000, DELTA) == []
    assert bench.add(14, 12000, KEY) == [12000]
    assert bench.add(15, 15000, DELTA) == [15000]
    assert bench.assembler.blocked_ns == 0
    assert not bench.assembler.give_up()


def test_the_end_of_a_key_frame_whose_beginning_is_lost_is_no_key_frame() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY) == [0]
    bench.add(12, 3000, KEY)
    bench.assembler.give_up()
    assert bench.add(13, 6000, DELTA) == []
    assert bench.assembler.wants_key


def test_a_gap_does_not_hold_more_than_so_many_packets() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY) == [0]
    for number in range(12, 11 + CAPACITY):
        assert bench.add(number, number, DELTA) == []
    assert bench.key_requests == 0
    bench.add(11 + CAPACITY, 1, DELTA)
    assert bench.key_requests == 1
    assert len(bench.assembler._waiting) == 0


def test_a_sender_that_starts_afresh_is_followed() -> None:
    bench = Bench()
    assert bench.add(30000, 0, KEY) == [0]
    assert bench.add(5, 90, KEY) == [90]
    assert bench.add(6, 93, DELTA) == [93]


def test_padding_is_no_picture() -> None:
    bench = Bench()
    assert bench.add(10, 0, KEY) == [0]
    assert bench.add(11, 0, b"", marker=False) == []
    assert bench.add(12, 3000, DELTA) == [3000]
