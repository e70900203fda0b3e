"""When each picture of a peer passed each step, from its first packet in to its last packet out."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np

from livefusion.core.frame import RenderedFrame
from livefusion.media.encode.outlet import TIME_BASE
from livefusion.testing.webrtc import BITS

STEPS = ("packets come", "decoder", "graph", "encoder", "packets go")
"""What lies between the times of a passage, in their order."""
# The number's bars are bright or dark; the sixteenth of the picture above its lower edge is in the middle.
_MIDDLE, _ROW = 125, 15 / 16


@dataclass(slots=True)
class Passage:
    """Monotonic nanoseconds at which one picture was at each place; 0 where it was not."""

    number: int = -1
    first_ns: int = 0
    """Its first packet is here."""
    complete_ns: int = 0
    """So is its last one."""
    decoded_ns: int = 0
    given_ns: int = 0
    """The graph hands it to the encoder."""
    encoded_ns: int = 0
    sent_ns: int = 0
    """Its last packet has left."""

    @property
    def times_ns(self) -> tuple[int, ...]:
        """All of them, in their order."""
        return (
            self.first_ns,
            self.complete_ns,
            self.decoded_ns,
            self.given_ns,
            self.encoded_ns,
            self.sent_ns,
        )

    @property
    def whole(self) -> bool:
        """Whether it came from one end to the other."""
        return all(self.times_ns)

    @property
    def steps_ms(self) -> tuple[float, ...]:
        """How long each of ``STEPS`` took; only of a whole one."""
        times = self.times_ns
        return tuple((after - before) / 1e6 for before, after in pairwise(times))


class PassageBook:
    """Passages by the time of their first packet, which goes with a picture through the graph.

    Each step is noted on the thread that takes it.
    """

    def __init__(self) -> None:
        self._passages: dict[int, Passage] = {}
        self._of_pts: dict[int, Passage] = {}
        self._last: Passage | None = None

    def of_trips(
        self, trips: Sequence[tuple[int, float, float]], offset_ms: float
    ) -> list[tuple[Passage, float, float]]:
        """The passages of what a browser saw: each with its milliseconds before the first packet and after
        the last.

        ``trips`` are a picture's number, and when it left the camera and was back, in ms of the browser's
        clock; ``offset_ms`` is monotonic time less that. What was not seen at both ends is left out.
        """
        by_number: dict[int, list[Passage]] = {}
        for passage in self._passages.values():
            if passage.whole:
                by_number.setdefault(passage.number, []).append(passage)
        found = []
        for number, left, back in trips:
            for passage in by_number.get(number, ()):
                before = passage.first_ns / 1e6 - offset_ms - left
                after = back + offset_ms - passage.sent_ns / 1e6
                # The numbers come again and again; the clocks are a millisecond apart at most.
                if before > -1 and after > -1:
                    found.append((passage, before, after))
        return found

    def note_complete(self, first_ns: int) -> None:
        """A picture's packets are all here."""
        self._passages[first_ns] = Passage(first_ns=first_ns, complete_ns=time.monotonic_ns())

    def note_decoded(self, first_ns: int, picture: Any) -> None:
        """An ``av.VideoFrame`` is made of them."""
        if (passage := self._passages.get(first_ns)) is not None:
            passage.decoded_ns, passage.number = time.monotonic_ns(), number_in(picture)

    def note_given(self, item: RenderedFrame) -> Passage:
        """The encoder is given a picture; what stands in for another is a passage of nobody."""
        frame = item.frame
        passage = None if item.stands_in else self._passages.get(frame.captured_ns)
        if passage is None or passage.given_ns:
            return Passage()
        passage.given_ns = time.monotonic_ns()
        self._of_pts[frame.ts.rescale(TIME_BASE).pts] = passage
        return passage

    def note_leaving(self, pts: int | None) -> None:
        """The connection takes up a picture, or begins to wait for one (None): that before has left."""
        if self._last is not None:
            self._last.sent_ns = time.monotonic_ns()
        self._last = None if pts is None else self._of_pts.get(pts)


@contextmanager
def noting_passages() -> Iterator[PassageBook]:
    """Note every picture of a peer that comes and goes inside the block; for one sender and one viewer."""
    from livefusion.media.webrtc.decode import DecoderFeed
    from livefusion.media.webrtc.inlet import Inlet
    from livefusion.media.webrtc.sink import WebRtcSink
    from livefusion.media.webrtc.viewer import PictureTrack

    book = PassageBook()
    feed, inlet, write, recv = DecoderFeed.put, Inlet.put, WebRtcSink.write, PictureTrack.recv

    def put_packets(self: Any, task: Any) -> None:
        for coded in task[1].pictures if task is not None else ():
            book.note_complete(coded.arrived_ns)
        feed(self, task)

    def put_picture(self: Any, sender: int, picture: Any, rtp_time: int, arrived_ns: int) -> None:
        book.note_decoded(arrived_ns, picture)
        inlet(self, sender, picture, rtp_time, arrived_ns)

    def write_frame(self: Any, item: RenderedFrame) -> None:
        passage = book.note_given(item)
        write(self, item)
        passage.encoded_ns = time.monotonic_ns()

    async def receive(self: Any) -> Any:
        book.note_leaving(None)
        packet = await recv(self)
        book.note_leaving(packet.pts)
        return packet

    with ExitStack() as stack:
        for owner, name, stand_in in (
            (DecoderFeed, "put", put_packets),
            (Inlet, "put", put_picture),
            (WebRtcSink, "write", write_frame),
            (PictureTrack, "recv", receive),
        ):
            stack.enter_context(mock.patch.object(owner, name, stand_in))
        yield book


def number_in(picture: Any) -> int:
    """The number in an ``av.VideoFrame`` of a luma plane, by one row of it: 20 µs."""
    plane = picture.planes[0]
    luma = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    row = luma[int(picture.height * _ROW)]
    number = 0
    for bit in range(BITS):
        number = number << 1 | int(row[int((bit + 0.5) * picture.width / BITS)] > _MIDDLE)
    return number
