"""The GPU's engines between peers and the graph, by the stand-in for their library."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceError
from livefusion.core.events import FormatChange
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.decode.layout import DevicePicture
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture
from livefusion.media.encode.share import KEYFRAME_SECONDS, EncoderShare
from livefusion.media.encode.x264 import X264Encoder
from livefusion.media.formats import OutputFormat
from livefusion.media.host import HostPictures
from livefusion.media.nvcodec.choose import ChosenEncoder
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.webrtc.assemble import CodedPicture, CodedPictures
from livefusion.media.webrtc.decode import DecoderFeed, Decoding
from livefusion.media.webrtc.inlet import Inlet
from livefusion.media.webrtc.sink import WebRtcSink
from livefusion.media.webrtc.source import WebRtcSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.nvcodec import Faults, stand_in_codecs
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.webrtc import numbered_picture, read_number

pytestmark = pytest.mark.media

SIZE = Size(160, 96)
CONTEXT = StageContext("t", SystemClock())
DEVICES = {"cpu": CpuDevice, "sim-cuda": lambda: SimDevice(3, kind="cuda", host_orders=False)}


def coded(pictures: int, keys: frozenset[int] = frozenset()) -> Iterator[CodedPicture]:
    """Numbered pictures as a peer's access units, the first of them a key frame."""
    encoder = X264Encoder(CpuDevice(), keyframe_seconds=1000)
    encoder.open(OutputFormat(SIZE, Fraction(30), ColorInfo(), TIME_BASE))
    decoder = FrameDecoder(CpuDevice())
    for number in range(pictures):
        picture = numbered_picture(SIZE, number)
        decoder.adapt(picture)
        ts = Timestamp(number * 3000, TIME_BASE)
        frame = Frame(number, "t", ts, 0, decoder.size, decoder.color, decoder.convert(picture))
        (packet,) = encoder.encode(frame, keyframe=number in keys)
        yield CodedPicture(bytes(packet), number * 3000, number)


class Peer:
    """What a publisher does between its receiver and the inlet, on this thread."""

    def __init__(self, inlet: Inlet) -> None:
        self._inlet = inlet
        self._sender = inlet.enter()
        self.damages = 0
        self.kinds: list[type] = []
        self.feed = DecoderFeed(self._deliver, self._damage, lambda: inlet.decoding)

    def send(self, picture: CodedPicture) -> None:
        self.feed.put((None, CodedPictures([picture])))
        self.feed._waiting.put(None)
        coded = self.feed._waiting.get()
        assert coded is not None
        self.feed._waiting.get()
        for decoded in self.feed._decode(coded):
            self._deliver(decoded, coded)

    def _deliver(self, picture: Any, coded: CodedPicture) -> None:
        self.kinds.append(type(picture))
        if self.feed.decoder is not None:
            self._inlet.fallbacks = self.feed.decoder.fallbacks
        self._inlet.put(self._sender, picture, coded.rtp_time, coded.arrived_ns)

    def _damage(self) -> None:
        self.damages += 1


def next_frame(source: WebRtcSource) -> Frame:
    entry = source.read()
    entry = source.read() if isinstance(entry, FormatChange) else entry
    assert isinstance(entry, Frame)
    return entry


@pytest.mark.parametrize("name", DEVICES)
def test_a_peers_pictures_are_decoded_where_they_are_wanted(name: str) -> None:
    device: Device = DEVICES[name]()
    codecs = stand_in_codecs(device)
    inlet = Inlet()
    source = WebRtcSource(inlet, device, size=SIZE, codecs=codecs)
    source.open(CONTEXT)
    peer, host = Peer(inlet), HostPictures(device)
    for number, picture in enumerate(coded(6)):
        peer.send(picture)
        frame = next_frame(source)
        luma, _ = host.planes(frame)
        assert read_number(luma) == number
        assert (frame.ts.pts, frame.captured_ns, frame.size) == (number * 3000, number, SIZE)
    assert peer.kinds == [DevicePicture] * 6
    assert (len(codecs.module.decoders), peer.damages, source.fallbacks) == (1, 0, ())


def test_a_move_goes_on_with_the_next_key_frame() -> None:
    device = CpuDevice()
    inlet = Inlet()
    source = WebRtcSource(inlet, device, size=SIZE, codecs=stand_in_codecs(device))
    source.open(CONTEXT)
    peer, seen = Peer(inlet), []
    for number, picture in enumerate(coded(8, frozenset({5}))):
        if number == 3:
            source._codecs = None
            source.move(CpuDevice(), 8)
        before = len(peer.kinds)
        peer.send(picture)
        if len(peer.kinds) > before:
            seen.append(read_number(np.asarray(next_frame(source).buffer.luma)))
    assert seen == [0, 1, 2, 5, 6, 7]
    assert peer.damages == 2  # each asks for the key frame
    assert peer.kinds == [DevicePicture] * 3 + [av.VideoFrame] * 3


def test_an_engine_that_fails_is_left_for_ffmpeg_and_said_so() -> None:
    device = CpuDevice()
    inlet = Inlet()
    codecs = stand_in_codecs(device, Faults(no_decoder=True))
    source = WebRtcSource(inlet, device, size=SIZE, codecs=codecs)
    source.open(CONTEXT)
    peer = Peer(inlet)
    for number, picture in enumerate(coded(3)):
        peer.send(picture)
        assert read_number(np.asarray(next_frame(source).buffer.luma)) == number
    (fallback,) = source.fallbacks
    assert (fallback.wanted, fallback.got) == ("nvdec", "software")


def test_a_device_that_is_gone_costs_pictures_and_not_the_thread() -> None:
    class Gone(Decoding):
        def open(self) -> Any:
            raise DeviceError("it fell off the bus")

    inlet = Inlet()
    inlet.decoding = Gone(CpuDevice())
    peer = Peer(inlet)
    for picture in coded(3):
        peer.send(picture)
    assert (peer.damages, peer.kinds) == (3, [])


class Rig:
    """Pictures of a device through the shared encoder, on stand-ins, to a viewer."""

    def __init__(self, device: Device, faults: Faults | None = None, ceiling: int = 8_000_000) -> None:
        self.codecs: Codecs = stand_in_codecs(device, faults)
        self.share = EncoderShare(ceiling, make=self._make)
        self.sink = WebRtcSink(self.share, device, OutputFormat(SIZE, Fraction(30), ColorInfo(), TIME_BASE))
        self.sink.open(CONTEXT)
        self.seen: list[EncodedPicture] = []
        self.viewer = self.share.outlet.attach(self.seen.append)
        self._device, self._seq = device, 0
        self._pool, self._stream = FramePool(device, SIZE, limit=2), device.stream("draw")

    def _make(self, device: Device, ceiling: int) -> ChosenEncoder:
        return ChosenEncoder(device, codecs=self.codecs, ceiling=ceiling, keyframe_seconds=KEYFRAME_SECONDS)

    @property
    def encoders(self) -> list[Any]:
        return list(self.codecs.module.encoders)

    def write(self) -> None:
        planes = numbered_picture(SIZE, self._seq).to_ndarray()
        buffer = self._pool.acquire(self._stream)
        for target, value in ((buffer.luma, planes[: SIZE.height]), (buffer.chroma, 128)):
            self._device.run(
                lambda target=target, value=value: np.copyto(target, value),
                self._stream,
                reads=(),
                writes=(target,),
                name="draw",
            )
        ts = Timestamp(self._seq * 3000, TIME_BASE)
        frame = Frame(self._seq, "t", ts, 0, SIZE, ColorInfo(), buffer.after(self._stream.record()))
        self.sink.write(RenderedFrame(frame, Outcome.CLEAR))
        self._seq += 1

    def numbers(self) -> list[int]:
        decoder = av.CodecContext.create("h264", "r")
        packets = [av.Packet(picture.data) for picture in self.seen]
        return [
            read_number(picture.to_ndarray(format="gray"))
            for packet in [*packets, None]
            for picture in decoder.decode(packet)
        ]


@pytest.mark.parametrize("name", DEVICES)
def test_a_wish_for_a_key_frame_reaches_nvenc(name: str) -> None:
    rig = Rig(DEVICES[name]())
    for seq in range(12):
        if seq == 7:
            rig.share.outlet.request_key()
        rig.write()
    assert [index for index, picture in enumerate(rig.seen) if picture.is_key] == [0, 7]
    assert [bool(flags & 2) for flags in rig.encoders[0].flags].count(True) <= 2
    assert rig.encoders[0].flags[7] & 2
    assert [picture.pts for picture in rig.seen] == [seq * 3000 for seq in range(12)]
    assert rig.numbers() == list(range(12))
    assert rig.sink.fallbacks == ()


@pytest.mark.parametrize("fault", [Faults(), Faults(no_reconfigure=True)])
def test_a_viewers_limit_reaches_nvenc(fault: Faults) -> None:
    rig = Rig(CpuDevice(), fault)
    rig.write()
    aim = rig.encoders[-1].bitrates[-1]
    limit = aim // 2
    rig.share.outlet.limit(rig.viewer, limit)
    rig.write()
    rig.write()
    assert rig.encoders[-1].bitrates[-1] == limit
    # A driver that does not change it begins anew, with a key frame; another one goes on.
    assert len(rig.encoders) == 1 + fault.no_reconfigure
    assert [picture.is_key for picture in rig.seen] == [True, fault.no_reconfigure, False]
    assert rig.numbers() == [0, 1, 2]


def test_an_nvenc_that_fails_is_left_for_x264_without_a_gap() -> None:
    rig = Rig(CpuDevice(), Faults(encode_fails=frozenset({3})))
    for _ in range(6):
        rig.write()
    assert rig.numbers() == list(range(6))
    assert rig.seen[3].is_key
    (fallback,) = rig.sink.fallbacks
    assert (fallback.wanted, fallback.got) == ("nvenc", "x264")
