"""What waits is bounded, and what is dropped ends with a key frame."""

import asyncio
import threading
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.media.encode.outlet import EncodedPicture
from livefusion.media.webrtc.assemble import CodedPicture, CodedPictures
from livefusion.media.webrtc.decode import WAITING as DECODER_WAITING
from livefusion.media.webrtc.decode import DecoderFeed
from livefusion.media.webrtc.handover import WAITING as HANDOVER_WAITING
from livefusion.media.webrtc.handover import Handover
from livefusion.media.webrtc.viewer import WAITING, PictureTrack

pytestmark = pytest.mark.unit


def test_a_viewer_that_stalls_costs_no_memory_and_goes_on_with_a_key_frame() -> None:
    async def run() -> tuple[list[int], int, int]:
        wishes: list[int] = []
        track = PictureTrack(lambda: wishes.append(1))
        track.put(EncodedPicture(b"x", -1, False))  # nothing before the first key frame
        for pts in range(1000):
            track.put(EncodedPicture(b"x", pts, pts in {0, 500}))
        track.put(EncodedPicture(b"x", 1000, True))
        track.put(EncodedPicture(b"x", 1001, False))
        waiting = track._pictures.qsize()
        return [(await track.recv()).pts for _ in range(waiting)], track.dropped, len(wishes)

    got, dropped, wishes = asyncio.run(run())
    assert got == [1000, 1001]
    assert dropped == 1001
    assert wishes > 900  # the throttle is not the track's


def test_within_its_bound_a_viewer_gets_everything() -> None:
    async def run() -> list[int]:
        track = PictureTrack(lambda: None)
        for pts in range(WAITING):
            track.put(EncodedPicture(b"x", pts, pts == 0))
        return [(await track.recv()).pts for _ in range(WAITING)]

    assert asyncio.run(run()) == list(range(WAITING))


@pytest.mark.parametrize("items", [1800, 4800])
def test_a_loop_that_stalls_for_a_minute_costs_no_memory(items: int) -> None:
    """A minute of pictures, without and with sound, in no time: all that is put is 17 KB."""
    import tracemalloc

    async def run() -> tuple[int, list[int]]:
        taken: list[int] = []
        lost: list[int] = []
        made: Handover[EncodedPicture] = Handover(
            asyncio.get_running_loop(), lambda item: taken.append(item.pts), lambda: lost.append(1)
        )
        tracemalloc.start()
        for pts in range(items):
            made.put(EncodedPicture(bytes(17_000), pts, False))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert taken == []
        await asyncio.sleep(0)
        assert lost == [1]
        made.put(EncodedPicture(b"", -1, True))
        await asyncio.sleep(0)
        return peak, taken

    peak, taken = asyncio.run(run())
    assert peak < 2 * HANDOVER_WAITING * 17_000
    assert len(taken) <= HANDOVER_WAITING + 1
    assert taken == [*range(taken[0], items), -1]


def task(number: int) -> tuple[None, CodedPictures]:
    return None, CodedPictures([CodedPicture(b"\x00\x00\x01\x09\x10", number, 0)])


def test_a_decoder_that_is_too_slow_drops_up_to_the_next_key_frame() -> None:
    damaged: list[int] = []
    feed = DecoderFeed(lambda picture, coded: None, lambda: damaged.append(1))
    for number in range(DECODER_WAITING):
        feed.put(task(number))
    assert (feed.dropped, damaged) == (0, [])
    feed.put(task(99))
    assert (feed.dropped, damaged) == (DECODER_WAITING + 1, [1])
    feed.put(None)
    feed.get()  # ends


def coded_pictures(count: int) -> list[CodedPicture]:
    """Numbered by their RTP time; the first is a key frame."""
    encoder: Any = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = 64, 64, "yuv420p"
    encoder.time_base = Fraction(1, 30)
    encoder.options = {"preset": "ultrafast", "tune": "zerolatency"}
    made = []
    for number in range(count):
        picture = av.VideoFrame.from_ndarray(np.full((96, 64), 20 + number, np.uint8), format="yuv420p")
        picture.pts = number
        made += [CodedPicture(bytes(packet), number, 0) for packet in encoder.encode(picture)]
    return made


def test_a_decoder_that_is_behind_gives_the_newest_pictures_only() -> None:
    shown: list[int] = []
    feed = DecoderFeed(lambda picture, coded: shown.append(coded.rtp_time), lambda: None)
    feed.put((None, CodedPictures(coded_pictures(8))))
    feed.put(None)
    feed.get()
    assert shown == [3, 7]  # three are passed over in a row at most, so that something is seen


def test_a_decoder_that_keeps_up_gives_every_picture() -> None:
    given = threading.Event()
    shown: list[int] = []

    def show(picture: Any, coded: CodedPicture) -> None:
        shown.append(coded.rtp_time)
        given.set()

    feed = DecoderFeed(show, lambda: None)
    thread = threading.Thread(target=feed.get)
    thread.start()
    for coded in coded_pictures(8):
        given.clear()
        feed.put((None, CodedPictures([coded])))
        assert given.wait(timeout=10)
    feed.put(None)
    thread.join(10)
    assert shown == list(range(8))


def test_a_damaged_picture_is_told_and_decoding_goes_on() -> None:
    damaged: list[int] = []
    shown: list[Any] = []
    feed = DecoderFeed(lambda picture, coded: shown.append(picture), lambda: damaged.append(1))
    feed.put((None, CodedPictures([CodedPicture(b"\x00\x00\x01\x65rubbish", 0, 0)])))
    feed.put(None)
    thread = threading.Thread(target=feed.get)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert (shown, damaged) == ([], [1])
