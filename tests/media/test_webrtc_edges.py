"""The two ends of the graph: pictures from the inlet become frames, frames become packets of the outlet."""

import threading
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import av
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.events import Discontinuity, Eos, FormatChange
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture
from livefusion.media.encode.x264 import X264Encoder
from livefusion.media.formats import OutputFormat
from livefusion.media.webrtc.exchange import Exchange
from livefusion.media.webrtc.sink import WebRtcSink
from livefusion.media.webrtc.source import WebRtcSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.webrtc import numbered_picture, read_number

pytestmark = pytest.mark.media

SMALL, LARGE = Size(160, 90), Size(320, 180)
MILLISECOND = 1_000_000


class Fixed(SystemClock):
    """It is two seconds past."""

    def now_ns(self) -> int:
        return 2000 * MILLISECOND


def source(exchange: Exchange, **options: Any) -> WebRtcSource:
    made = WebRtcSource(exchange.inlet, CpuDevice(), **options)
    made.open(StageContext("webrtc", Fixed()))
    return made


def rendered(seq: int, size: Size, *, pts: int | None = None) -> RenderedFrame:
    decoder = FrameDecoder(CpuDevice())
    picture = numbered_picture(size, seq)
    decoder.adapt(picture)
    ts = Timestamp(seq * 3000 if pts is None else pts, TIME_BASE)
    frame = Frame(seq, "t", ts, 0, decoder.size, decoder.color, decoder.convert(picture))
    return RenderedFrame(frame, Outcome.CLEAR)


def test_a_source_announces_its_format_before_anybody_is_there() -> None:
    exchange = Exchange.make()
    assert source(exchange).probe().size == Size(1280, 720)
    made = source(exchange, size=LARGE, fps=Fraction(25)).probe()
    assert (made.size, made.fps) == (LARGE, 25)


def test_pictures_become_frames_and_the_next_sender_goes_on_in_time() -> None:
    exchange = Exchange.make()
    made = source(exchange)
    entries: list[Any] = []

    def send(sender: int, number: int, rtp: int, arrived_ms: int, size: Size = LARGE) -> None:
        exchange.inlet.put(sender, numbered_picture(size, number), rtp % 2**32, arrived_ms * MILLISECOND)
        entries.append(made.read())

    first = exchange.inlet.enter()
    send(first, 1, 2**32 - 3000, 1000)
    entries.append(made.read())
    send(first, 2, 0, 1040)  # the RTP time wraps
    send(first, 3, 3000, 1060)
    second = exchange.inlet.enter()
    entries += [made.read(), made.read()]
    send(second, 4, 77, 3000, SMALL)
    entries.append(made.read())
    send(second, 5, 77 + 3000, 3030, SMALL)

    kinds = [type(entry) for entry in entries]
    assert kinds == [FormatChange, Frame, Frame, Frame, Discontinuity, Frame, FormatChange, Frame, Frame]
    frames = [entry for entry in entries if isinstance(entry, Frame)]
    assert [frame.ts.pts for frame in frames] == [0, 3000, 6000, 90_000, 180_000, 183_000]
    assert [frame.captured_ns // MILLISECOND for frame in frames] == [1000, 1040, 1060, 2000, 3000, 3030]
    assert [frame.seq for frame in frames] == [0, 1, 2, 3, 4, 5]
    card = frames.pop(3)
    assert card.size == LARGE
    assert 30 < card.buffer.luma.mean() < 70  # dark, with some words on it
    assert card.buffer.luma.max() > 150
    assert [read_number(frame.buffer.luma) for frame in frames] == [1, 2, 3, 4, 5]


def test_media_time_rises_whatever_a_sender_says() -> None:
    exchange = Exchange.make()
    made = source(exchange)
    sender = exchange.inlet.enter()
    stamps = []
    for index, rtp in enumerate([5000, 8000, 8000, 2000, 2**31, 9000]):
        exchange.inlet.put(sender, numbered_picture(SMALL, index), rtp, index * 33 * MILLISECOND)
        entry = made.read()
        entry = made.read() if isinstance(entry, FormatChange) else entry
        stamps.append(entry.ts.pts)
    assert all(one < another for one, another in pairwise(stamps))


def test_a_source_ends_with_its_duration_or_when_interrupted() -> None:
    exchange = Exchange.make()
    made = source(exchange, duration=0.05)
    sender = exchange.inlet.enter()
    entries = []
    for number in range(4):
        exchange.inlet.put(sender, numbered_picture(SMALL, number), number * 3000, 0)
        entries.append(made.read())
    assert [type(entry) for entry in entries] == [FormatChange, Frame, Eos, Eos]

    waiting = source(Exchange.make())
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(waiting.read()))
    thread.start()
    waiting.interrupt()
    thread.join(10)
    assert got == [Eos()]
    assert waiting.read() == Eos()


class Watched:
    """An outlet's only viewer, and what it sees."""

    def __init__(self, exchange: Exchange) -> None:
        self.pictures: list[EncodedPicture] = []
        self.number = exchange.outlet.attach(self.pictures.append)

    def numbers(self) -> list[int]:
        decoder = av.CodecContext.create("h264", "r")
        packets = [av.Packet(picture.data) for picture in self.pictures]
        decoded = [picture for packet in [*packets, None] for picture in decoder.decode(packet)]
        return [read_number(picture.to_ndarray(format="gray")) for picture in decoded]


def sink(exchange: Exchange, opened: list[tuple[int, Size]] | None = None) -> WebRtcSink:
    class Noted(X264Encoder):
        def open(self, output: OutputFormat) -> None:
            if opened is not None:
                opened.append((self._ceiling or 0, output.size))
            super().open(output)

    device = CpuDevice()
    output = OutputFormat(LARGE, Fraction(30), ColorInfo(), Fraction(1, 1000))
    for rung in exchange.share._rungs:
        rung._make = lambda device, rate: Noted(device, ceiling=rate)
    made = WebRtcSink(exchange.share, device, output)
    made.open(StageContext("webrtc:", SystemClock()))
    return made


def test_nothing_is_encoded_while_nobody_watches() -> None:
    exchange, opened = Exchange.make(), list[tuple[int, Size]]()
    made = sink(exchange, opened)
    made.write(rendered(0, LARGE))
    assert (opened, made.stats.frames, made.stats.bytes) == ([], 1, 0)
    viewer = Watched(exchange)
    made.write(rendered(1, LARGE))
    assert viewer.pictures[0].is_key
    assert viewer.numbers() == [1]
    assert made.stats.bytes == len(viewer.pictures[0].data)


def test_a_key_frame_comes_when_it_is_asked_for_and_not_else() -> None:
    exchange = Exchange.make()
    made, viewer = sink(exchange), Watched(exchange)
    for seq in range(20):
        if seq == 7:
            exchange.outlet.request_key()
        made.write(rendered(seq, LARGE))
    assert [index for index, picture in enumerate(viewer.pictures) if picture.is_key] == [0, 7]
    assert [picture.pts for picture in viewer.pictures] == [seq * 3000 for seq in range(20)]
    assert viewer.numbers() == list(range(20))


def test_key_frames_that_many_ask_for_come_a_tenth_of_a_second_apart() -> None:
    exchange = Exchange.make()
    made, viewer = sink(exchange), Watched(exchange)
    for seq in range(20):
        if 4 <= seq < 9 or seq == 12:
            exchange.outlet.request_key()
        made.write(rendered(seq, LARGE))
    # The last wish of five came too early for 7, and is not forgotten: no wish waits for 150 ms.
    assert [index for index, picture in enumerate(viewer.pictures) if picture.is_key] == [0, 4, 7, 10, 13]


def again(item: RenderedFrame, seq: int) -> RenderedFrame:
    """A picture as the pacer shows it again: the same pixels, later."""
    return replace(item, frame=replace(item.frame, seq=seq, ts=Timestamp(seq * 3000, TIME_BASE)))


def test_a_picture_that_is_shown_again_is_encoded_four_times_a_second() -> None:
    exchange = Exchange.make()
    made, viewer = sink(exchange), Watched(exchange)
    first = rendered(0, LARGE)
    for seq in range(31):
        made.write(again(first, seq))
    assert [picture.pts // 3000 for picture in viewer.pictures] == [0, 8, 16, 24]
    exchange.outlet.request_key()  # somebody sees nothing yet
    made.write(again(first, 31))
    assert (viewer.pictures[-1].pts // 3000, viewer.pictures[-1].is_key) == (31, True)
    made.write(rendered(32, LARGE))  # another picture
    assert viewer.pictures[-1].pts // 3000 == 32
    assert made.stats.frames == 33


def test_who_comes_while_a_picture_stands_still_gets_it_at_once() -> None:
    exchange = Exchange.make()
    made, first = sink(exchange), rendered(0, LARGE)
    viewer = Watched(exchange)
    made.write(first)
    second = Watched(exchange)
    made.write(again(first, 4))
    assert [picture.is_key for picture in second.pictures] == [True]
    assert viewer.numbers() == [0, 0]


def test_outputs_that_share_an_encoder_encode_once_and_none_holds_another_up() -> None:
    exchange, opened = Exchange.make(), list[tuple[int, Size]]()
    first, viewer = sink(exchange, opened), Watched(exchange)
    second = WebRtcSink(exchange.share, first._device, first._output)
    second.open(StageContext("whip", SystemClock()))
    for seq in range(12):
        if seq != 5:  # each of them misses some
            first.write(rendered(seq, LARGE))
        if seq not in {2, 3}:
            second.write(rendered(seq, LARGE))
    assert viewer.numbers() == list(range(12))
    assert len(opened) == 1
    assert first.stats.bytes == second.stats.bytes == sum(len(one.data) for one in viewer.pictures)
    first.close()
    second.write(rendered(12, LARGE))
    second.close()
    assert viewer.numbers()[-1] == 12
    assert len(opened) == 1


def test_pictures_keep_their_size_when_it_changes() -> None:
    exchange, opened = Exchange.make(), list[tuple[int, Size]]()
    made, viewer = sink(exchange, opened), Watched(exchange)
    for seq, size in enumerate([LARGE, LARGE, SMALL, SMALL, LARGE]):
        made.write(rendered(seq, size))
    assert [size for _, size in opened] == [LARGE, SMALL, LARGE]
    assert [picture.is_key for picture in viewer.pictures] == [True, False, True, False, True]
    assert viewer.numbers() == [0, 1, 2, 3, 4]


def test_a_viewer_with_a_bad_line_lowers_the_rate_by_a_new_key_frame() -> None:
    exchange = Exchange.make(2_000_000)
    made, viewer = sink(exchange), Watched(exchange)
    for seq in range(6):
        if seq == 2:
            exchange.outlet.limit(viewer.number, 1_900_000)  # not worth a key frame
        if seq == 4:
            exchange.outlet.limit(viewer.number, 1_000_000)
        made.write(rendered(seq, LARGE))
    assert [index for index, picture in enumerate(viewer.pictures) if picture.is_key] == [0, 4]


def test_a_picture_whose_time_does_not_rise_is_left_out() -> None:
    exchange = Exchange.make()
    made, viewer = sink(exchange), Watched(exchange)
    for seq, pts in enumerate([0, 3000, 3000, 2000, 6000]):
        made.write(rendered(seq, SMALL, pts=pts))
    assert [picture.pts for picture in viewer.pictures] == [0, 3000, 6000]


def test_packets_are_what_every_browser_decodes() -> None:
    """Constrained baseline, Annex B, parameters before each key frame."""
    exchange = Exchange.make()
    made, viewer = sink(exchange), Watched(exchange)
    made.write(rendered(0, LARGE))
    data = viewer.pictures[0].data
    start = data.index(b"\x00\x00\x01\x67") + 4
    assert data[start] == 66  # profile_idc
    assert data[start + 1] & 0x40  # constraint_set1_flag
    assert b"\x00\x00\x01\x68" in data


def test_a_ceiling_keeps_pictures_small() -> None:
    import numpy as np

    sizes = {}
    for ceiling in (None, 400_000):
        encoder = X264Encoder(CpuDevice(), ceiling=ceiling)
        encoder.open(OutputFormat(LARGE, Fraction(30), ColorInfo(), TIME_BASE))
        chance, total = np.random.default_rng(3), 0
        for seq in range(30):
            decoder = FrameDecoder(CpuDevice())
            noise = chance.integers(0, 255, (LARGE.height, LARGE.width), dtype=np.uint8)
            picture = numbered_picture(LARGE, seq, noise)
            decoder.adapt(picture)
            ts = Timestamp(seq * 3000, TIME_BASE)
            frame = Frame(seq, "t", ts, 0, decoder.size, decoder.color, decoder.convert(picture))
            total += sum(packet.size for packet in encoder.encode(frame))
        sizes[ceiling] = total * 8
    assert sizes[400_000] < 500_000 < sizes[None]
