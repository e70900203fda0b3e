"""What our own pictures suffer on a bad line: from our encoder through a relay that loses packets."""

import asyncio
import struct
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiortc", reason="needs the extra webrtc")

from aiortc.rtcrtpparameters import RTCRtpHeaderExtensionParameters, RTCRtpParameters
from aiortc.rtp import HeaderExtensions, unpack_header_extensions

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.outlet import TIME_BASE
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.webrtc import compat
from livefusion.media.webrtc.compat import ReceiverHooks
from livefusion.media.webrtc.desk import Desk
from livefusion.media.webrtc.exchange import Exchange
from livefusion.media.webrtc.ice import Reach
from livefusion.media.webrtc.inlet import Inlet
from livefusion.media.webrtc.loop import LoopThread
from livefusion.media.webrtc.viewer import Viewer
from livefusion.testing.webrtc import LossyRelay, numbered_picture, read_number

pytestmark = [
    pytest.mark.net,
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SIZE, FPS, CEILING = Size(320, 180), 30, 1_500_000
PATIENCE = 20.0


class Notes(Inlet):
    """Every number that was decoded, also of pictures that a newer one replaces at once."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[int] = []

    def put(self, sender: int, picture: Any, rtp_time: int, arrived_ns: int) -> None:
        self.numbers.append(read_number(picture.to_ndarray(format="gray")))


class Line:
    """Our encoder and a viewer of it, which is the publisher of another desk: a receiver that asks again."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.share = EncoderShare(CEILING)
        self.keys: list[int] = []
        self.written = 0
        self._thread = LoopThread()
        self._thread.start()
        self._thread.call(self._connect(), PATIENCE)
        self._output = OutputFormat(SIZE, Fraction(FPS), ColorInfo(), TIME_BASE)
        self._decoder, self._device = FrameDecoder(CpuDevice()), CpuDevice()
        self._textures = np.random.default_rng(1).integers(90, 160, (8, SIZE.height, SIZE.width), np.uint8)
        self.listener = self.share.outlet.attach(
            lambda item: self.keys.append(self.written) if item.is_key else None
        )

    async def _connect(self) -> None:
        reach = Reach(local=True)
        self._desk = Desk(Exchange(self.notes, EncoderShare(CEILING)), reach=reach)
        self._viewer = Viewer(self.share.outlet, SystemClock(), reach)
        session = await self._desk.admit("publisher", await self._viewer.offer())
        self.publisher: Any = session.party
        await self._viewer.connection.accept(session.answer)
        while not self._viewer.connection.connected:
            await asyncio.sleep(0.01)

    def lose(self, relay: LossyRelay) -> LossyRelay:
        """Let a relay stand in the way from now on."""
        sender = self._viewer.connection.peer.getSenders()[0]
        relay.stand_before(sender)
        return relay

    def play(self, pictures: int, done: Callable[[], bool] = lambda: False) -> None:
        """Bring pictures that are as hard to encode as the ceiling allows, at their rate, until ``done``."""
        pause = threading.Event()
        for _ in range(pictures):
            if done():
                return
            picture = numbered_picture(SIZE, self.written, self._textures[self.written % 8])
            self._decoder.adapt(picture)
            ts = Timestamp(self.written * 3000, TIME_BASE)
            buffer = self._decoder.convert(picture)
            frame = Frame(self.written, "t", ts, 0, self._decoder.size, self._decoder.color, buffer)
            self.share.write(frame, self._device, self._output)
            self.written += 1
            pause.wait(1 / FPS)

    def report_loss(self, lost: float, seconds: int) -> None:
        """What a viewer says of its line, each second."""

        async def report() -> None:
            for _ in range(seconds):
                self._viewer._note_loss(lost)

        self._thread.call(report(), PATIENCE)

    def ask_key(self) -> None:
        """What a viewer does that lost its way."""
        hooks: ReceiverHooks = self.publisher._hooks
        assert hooks.stream is not None
        self._thread.call(hooks.ask_key(hooks.stream), PATIENCE)

    def close(self) -> None:
        async def close() -> None:
            await self._viewer.connection.close()
            await self._desk.close()

        self._thread.call(close(), PATIENCE)
        self._thread.stop()


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.close()


def gaps(numbers: list[int], first: int, last: int) -> list[int]:
    """How many pictures in a row were not seen, each time, from ``first`` to ``last``."""
    seen = [first - 1, *(number for number in numbers if first <= number <= last), last + 1]
    return [b - a - 1 for a, b in pairwise(seen)]


def test_five_in_a_hundred_lost_leaves_the_picture_in_motion(line: Line) -> None:
    line.play(30, lambda: bool(line.notes.numbers))
    relay = line.lose(LossyRelay(share=0.05, seed=3))
    first = line.written
    line.play(3 * FPS)
    last = line.written - 1
    relay.share = 0.0
    line.play(FPS)
    recovered = line.written
    line.play(FPS // 2)
    assert relay.lost > 15
    seen = sum(first <= number <= last for number in line.notes.numbers)
    assert seen >= 24 / 30 * (last - first + 1)
    assert max(gaps(line.notes.numbers, first, last)) <= FPS // 2
    assert sum(gaps(line.notes.numbers, recovered, line.written - 3)) <= 1
    assert line.notes.numbers == sorted(line.notes.numbers)


def test_a_packet_and_its_first_repeat_lost_costs_no_picture(line: Line) -> None:
    line.play(30, lambda: len(line.notes.numbers) > 5)
    keys = len(line.keys)
    relay = line.lose(LossyRelay(lose=frozenset({40}), first_repeats=1))
    line.play(3 * FPS, lambda: relay.lost == 2)
    last = line.written
    line.play(FPS, lambda: line.notes.numbers[-1] > last)
    assert relay.lost == 2
    assert len(line.keys) == keys
    assert max(gaps(line.notes.numbers, line.notes.numbers[0], last)) == 0


def test_a_key_frame_that_is_asked_for_comes_within_a_few_pictures(line: Line) -> None:
    line.play(30, lambda: len(line.notes.numbers) > 5)
    keys, asked = len(line.keys), line.share.outlet.key_requests
    line.ask_key()
    line.play(FPS, lambda: line.share.outlet.key_requests > asked)
    heard = line.written
    line.play(6)
    assert len(line.keys) > keys
    assert line.keys[keys] - heard <= 4  # 150 ms


def test_a_viewer_on_a_bad_line_gets_an_encoding_of_its_own(line: Line) -> None:
    """The other one, a stream to a server for instance, keeps its rate; and the viewer misses no picture."""
    line.play(30, lambda: len(line.notes.numbers) > 5)
    first = line.notes.numbers[-1]
    line.report_loss(0.9, 3)
    assert (line.share.outlet.viewers, line.share.outlet.lower.viewers) == (1, 1)
    assert (line.share.outlet.bitrate, line.share.outlet.lower.bitrate) == (CEILING, 300_000)
    line.play(FPS)
    assert line.share.encoders == 2
    line.report_loss(0.0, 30)
    assert (line.share.outlet.viewers, line.share.outlet.lower.viewers) == (2, 0)
    back = line.written
    line.play(2 * FPS, lambda: line.notes.numbers[-1] > back + 5)
    assert line.share.encoders == 2
    seen = [number for number in line.notes.numbers if number >= first]
    assert seen == sorted(set(seen))
    assert max(gaps(seen, first, back)) <= 5  # until the key frame of the other encoding


def test_who_is_left_alone_on_a_bad_line_comes_back(line: Line) -> None:
    line.play(30, lambda: len(line.notes.numbers) > 5)
    line.report_loss(0.9, 3)
    line.share.outlet.detach(line.listener)
    line.report_loss(0.9, 1)
    assert (line.share.outlet.viewers, line.share.outlet.lower.viewers) == (1, 0)
    assert line.share.outlet.bitrate == 300_000


@pytest.mark.parametrize("known", [True, False])
def test_each_packet_asks_to_be_shown_at_once_if_the_peer_knows_how(known: bool) -> None:
    extensions = compat._ShownAtOnce()
    uris = {1: "urn:ietf:params:rtp-hdrext:sdes:mid"} | ({7: compat.PLAYOUT_DELAY} if known else {})
    told = [RTCRtpHeaderExtensionParameters(id=number, uri=uri) for number, uri in uris.items()]
    extensions.configure(RTCRtpParameters(headerExtensions=told))
    packed = unpack_header_extensions(*extensions.set(HeaderExtensions(mid="0")))
    assert packed == [(1, b"0"), *([(7, b"\x00\x00\x01")] if known else [])]


def test_a_viewer_offers_it_and_sends_it(line: Line) -> None:
    sender = line._viewer.connection.peer.getSenders()[0]
    sent: list[bytes] = []
    send = sender.transport._send_rtp

    async def note(data: bytes) -> None:
        sent.append(data)
        await send(data)

    sender.transport._send_rtp = note
    line.play(30, lambda: len(line.notes.numbers) > 3)
    media = [data for data in sent if not 64 <= data[1] & 0x7F < 96]
    assert media
    for data in media:
        profile, words = struct.unpack_from("!HH", data, 12)
        assert b"\x00\x00\x01" in [
            value for _, value in unpack_header_extensions(profile, data[16 : 16 + 4 * words])
        ]
