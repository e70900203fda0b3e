"""When each picture of a peer passed each step."""

import asyncio
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.media.encode.outlet import EncodedPicture
from livefusion.media.webrtc.assemble import CodedPicture, CodedPictures
from livefusion.media.webrtc.decode import DecoderFeed
from livefusion.media.webrtc.inlet import Inlet
from livefusion.media.webrtc.sink import WebRtcSink
from livefusion.media.webrtc.viewer import PictureTrack
from livefusion.testing import passage
from livefusion.testing.passage import STEPS, Passage, PassageBook, noting_passages, number_in
from livefusion.testing.webrtc import numbered_picture

pytestmark = pytest.mark.unit

MS = 1_000_000
SIZE = Size(160, 96)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each look at it is a millisecond later."""
    now = [100 * MS]

    def tick() -> int:
        now[0] += MS
        return now[0]

    monkeypatch.setattr(passage, "time", SimpleNamespace(monotonic_ns=tick))
    return now


def frame_of(first_ns: int, pts: int, *, stands_in: bool = False) -> Any:
    frame = SimpleNamespace(captured_ns=first_ns, ts=Timestamp(pts, Fraction(1, 90_000)))
    return SimpleNamespace(frame=frame, stands_in=stands_in)


class Share:
    """Takes what a sink writes."""

    bytes = 0

    def write(self, frame: Any, device: Any, output: Any) -> None:
        """Do nothing."""


async def carry(number: int, first_ns: int, pts: int) -> None:
    """A picture's whole way through the parts that are watched."""
    feed = DecoderFeed(lambda picture, coded: None, lambda: None)
    feed.put((None, CodedPictures([CodedPicture(b"", 7, first_ns)])))
    Inlet().put(1, numbered_picture(SIZE, number), 7, first_ns)
    output: Any = None
    share: Any = Share()
    sink = WebRtcSink(share, output, output)
    sink.write(frame_of(first_ns, pts, stands_in=True))
    sink.write(frame_of(first_ns, pts))
    sink.write(frame_of(first_ns, pts + 1))  # shown again
    track = PictureTrack(lambda: None)
    track.put(EncodedPicture(b"p", pts, True))
    await track.recv()
    task = asyncio.ensure_future(track.recv())  # what was before has left
    await asyncio.sleep(0)
    task.cancel()


def test_every_step_is_noted_and_found_by_what_the_browser_saw(clock: list[int]) -> None:
    with noting_passages() as book:
        asyncio.run(carry(77, 100 * MS, 9000))
    (found,) = book.of_trips([(77, 90.0, 140.0), (78, 90.0, 140.0)], 5.0)
    seen, before, after = found
    assert seen.whole
    assert seen.number == 77
    # One look is that at the stand-in, which is written before.
    assert seen.steps_ms[:-1] == (1.0, 1.0, 2.0, 1.0)
    assert seen.steps_ms[-1] >= 1.0
    assert len(seen.steps_ms) == len(STEPS)
    assert before == 5.0
    assert before + sum(seen.steps_ms) + after == pytest.approx(50.0)


def test_nothing_is_noted_outside_the_block(clock: list[int]) -> None:
    with noting_passages() as book:
        pass
    asyncio.run(carry(77, 100 * MS, 9000))
    assert book.of_trips([(77, 90.0, 140.0)], 5.0) == []


def test_one_that_was_not_at_every_place_is_left_out(clock: list[int]) -> None:
    book = PassageBook()
    book.note_complete(100 * MS)
    book.note_decoded(100 * MS, numbered_picture(SIZE, 3))
    book.note_decoded(50 * MS, numbered_picture(SIZE, 4))  # of a peer that came before
    assert book.of_trips([(3, 0.0, 1e6), (4, 0.0, 1e6)], 0.0) == []
    assert book.note_given(frame_of(60 * MS, 1)) == Passage()


@pytest.mark.parametrize("left", [101.5, 20.0])
def test_a_number_of_another_round_is_not_mixed_up(clock: list[int], left: float) -> None:
    """The camera's file begins again and again."""
    with noting_passages() as book:
        asyncio.run(carry(5, 100 * MS, 9000))
    back = left + 60
    assert bool(book.of_trips([(5, left, back)], 0.0)) == (left < 100 < back - 20)


@pytest.mark.parametrize("number", [0, 1, 4711, 65_535])
def test_the_number_is_read_of_a_picture(number: int) -> None:
    assert number_in(numbered_picture(SIZE, number)) == number
