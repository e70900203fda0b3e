"""NVENC, as far as a stand-in for its library can show: real files, one packet a frame, and no race."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from nv_tools import CONTEXT, SIZE, write

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import DeviceError, DeviceLostError, GraphError
from livefusion.core.events import Eos
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import DeviceBuffer, FramePool
from livefusion.media.formats import OutputFormat
from livefusion.media.h273 import read_color
from livefusion.media.nvcodec.capabilities import Capabilities, Engine
from livefusion.media.nvcodec.choose import ChosenEncoder
from livefusion.media.nvcodec.codecs import Codecs
from livefusion.media.nvcodec.encoder import NvencEncoder
from livefusion.media.nvcodec.settings import ARGUMENTS, bitrate_for, checked, encoder_arguments
from livefusion.media.sinks.file import FileSink
from livefusion.media.sources.file import FileSource
from livefusion.testing.media import decode_clip, luma_of, packet_times, pattern_planes
from livefusion.testing.nvcodec import Faults, stand_in_codecs
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.media

TICK = Fraction(1, 30)
OUTPUT = OutputFormat(SIZE, Fraction(30), ColorInfo(), TICK)
CLOSE = 4
"""Code values by which the stand-in's encoder may be off."""


def frames(
    device: Device, count: int, *, size: Size = SIZE, color: ColorInfo | None = None, first: int = 0
) -> Iterator[Frame]:
    """Pictures written on a stream of their own, into two slots that go round."""
    pool, stream = FramePool(device, size, limit=2), device.stream("writer")
    for index in range(first, first + count):
        buffer = pool.acquire(stream)
        y, u, v = pattern_planes(size, index)
        _put(device, stream, buffer.luma, y)
        _put(device, stream, buffer.chroma, np.stack([u, v], axis=2))
        buffer = buffer.after(stream.record())
        yield Frame(index, "test", Timestamp(index, TICK), 0, size, color or ColorInfo(), buffer)


def _put(device: Device, stream: Any, target: Any, values: np.ndarray) -> None:
    device.run(lambda: np.copyto(target, values), stream, reads=(), writes=(target,), name="draw")


def decoded(packets: Sequence[Any]) -> list[Any]:
    context = av.CodecContext.create("h264", "r")
    pictures = [picture for packet in packets for picture in context.decode(packet)]
    return [*pictures, *context.decode(None)]


def close_to_pattern(picture: Any, index: int) -> bool:
    return bool(np.abs(luma_of(picture).astype(int) - pattern_planes(SIZE, index)[0]).max() <= CLOSE)


def opened(device: Device, faults: Faults | None = None, **options: Any) -> tuple[NvencEncoder, Codecs]:
    codecs = stand_in_codecs(device, faults)
    encoder = NvencEncoder(codecs, device, **options)
    encoder.open(OUTPUT)
    return encoder, codecs


@pytest.mark.parametrize("seed", range(20))
def test_each_frame_gives_its_packet_at_once(seed: int) -> None:
    device = SimDevice(seed, host_orders=False)
    encoder, _ = opened(device)
    packets = []
    for frame in frames(device, 8):
        [packet] = encoder.encode(frame)
        assert packet.pts == packet.dts == frame.ts.pts
        assert packet.time_base == TICK
        packets.append(packet)
    assert encoder.delay == 0
    assert list(encoder.flush()) == []
    encoder.close()
    pictures = decoded(packets)
    assert len(pictures) == 8
    assert all(close_to_pattern(picture, index) for index, picture in enumerate(pictures))
    device.assert_no_races()


def test_each_wait_is_needed() -> None:
    counted = SimDevice(0, host_orders=False)
    encode_all(counted)
    counted.assert_no_races()
    # A place without a number is the stand-in's own.
    places = {site for site in counted.mutation.ordering if not site.endswith("?")}
    assert len(places) >= 2
    for site in places:
        device = SimDevice(0, host_orders=False, drop_site=site)
        encode_all(device)
        assert device.races, f"nobody noticed that {site} was missing"


def test_a_slot_that_does_not_wait_for_the_encoder_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeviceBuffer, "read_until", lambda buffer, event, stream: None)
    device = SimDevice(0, host_orders=False)
    encode_all(device)
    assert any("nvenc" in str(race) for race in device.races)


def encode_all(device: Device) -> None:
    encoder, _ = opened(device)
    for frame in frames(device, 5):
        encoder.encode(frame)
    for size in (Size(32, 48), SIZE):
        color = ColorInfo(matrix=Matrix.BT601)
        for frame in frames(device, 4, size=size, color=color, first=5 if size == SIZE else 9):
            encoder.encode(frame)


def test_key_frames_come_on_demand_and_each_second() -> None:
    device = CpuDevice()
    encoder, codecs = opened(device)
    packets = [
        packet for frame in frames(device, 70) for packet in encoder.encode(frame, keyframe=frame.seq == 10)
    ]
    assert [packet.pts for packet in packets if packet.is_keyframe] == [0, 10, 40]
    module = codecs.module
    assert set(module.encoders[0].flags) == {0, module.NV_ENC_PIC_FLAGS.FORCEIDR | 4}


def test_the_bitrate_changes_without_another_session() -> None:
    device = CpuDevice()
    encoder, codecs = opened(device, bitrate=4_000_000)
    packets = []
    for frame in frames(device, 6):
        if frame.seq == 3:
            encoder.set_bitrate(1_500_000)
        packets += encoder.encode(frame)
    [session] = codecs.module.encoders
    assert session.bitrates == [4_000_000, 1_500_000]
    assert encoder.bitrate == 1_500_000
    assert [packet.is_keyframe for packet in packets] == [True] + [False] * 5


def test_a_driver_that_keeps_its_bitrate_gets_another_session() -> None:
    device = CpuDevice()
    encoder, codecs = opened(device, Faults(no_reconfigure=True))
    pictures = list(frames(device, 2))
    encoder.encode(pictures[0])
    encoder.set_bitrate(2_000_000)
    [packet] = encoder.encode(pictures[1])
    assert packet.is_keyframe
    assert codecs.module.encoders[-1].bitrates == [2_000_000]


@pytest.mark.parametrize("seed", range(5))
def test_packets_that_are_held_back_are_asked_for(seed: int) -> None:
    device = SimDevice(seed, host_orders=False)
    encoder, _ = opened(device, Faults(delay=3))
    packets = []
    for frame in frames(device, 8):
        [packet] = encoder.encode(frame)
        assert packet.pts == frame.ts.pts
        packets.append(packet)
    assert [packet.is_keyframe for packet in packets] == [True] + [False] * 7
    assert [close_to_pattern(picture, i) for i, picture in enumerate(decoded(packets))] == [True] * 8
    device.assert_no_races()


def test_an_encoder_that_begins_anew_when_it_is_asked_is_not_asked_on() -> None:
    device = CpuDevice()
    encoder, _ = opened(device, Faults(delay=3, flush_restarts=True))
    first, second = frames(device, 2)
    assert len(encoder.encode(first)) == 1
    with pytest.raises(GraphError, match="begins anew"):
        encoder.encode(second)


@pytest.mark.parametrize("delay", [1, 3])
def test_a_packet_that_comes_late_is_a_fault_that_names_the_delay(delay: int) -> None:
    device = CpuDevice()
    encoder, _ = opened(device, Faults(delay=delay, no_flush=True))
    with pytest.raises(GraphError, match=f"{delay} pictures late, and 0 are allowed"):
        encoder.encode(next(frames(device, 1)))


def test_a_recording_may_lag_and_loses_nothing() -> None:
    device = CpuDevice()
    encoder, _ = opened(device, Faults(delay=3), late=4)
    counts, packets = [], []
    for frame in frames(device, 8):
        some = encoder.encode(frame)
        counts.append(len(some))
        packets += some
    assert counts == [0, 0, 0, 1, 1, 1, 1, 1]
    assert encoder.delay == 3
    packets += encoder.flush()
    assert [packet.pts for packet in packets] == list(range(8))
    assert [close_to_pattern(picture, i) for i, picture in enumerate(decoded(packets))] == [True] * 8


@pytest.mark.parametrize("value_range", list(Range))
@pytest.mark.parametrize("matrix", list(Matrix))
def test_the_bitstream_says_what_its_colours_and_pixels_are(matrix: Matrix, value_range: Range) -> None:
    device = CpuDevice()
    color = ColorInfo(matrix, value_range, "smpte2084", "bt2020")
    encoder = NvencEncoder(stand_in_codecs(device), device)
    encoder.open(replace(OUTPUT, color=color, pixel_aspect=Fraction(4, 3)))
    context = av.CodecContext.create("h264", "r")
    [packet] = encoder.encode(next(frames(device, 1, color=color)))
    [picture] = [*context.decode(packet), *context.decode(None)]
    assert read_color(picture, height=48) == color
    assert context.sample_aspect_ratio == Fraction(4, 3)


@pytest.mark.parametrize("seed", range(5))
def test_pictures_of_another_size_and_colour_are_fitted_on_the_device(seed: int) -> None:
    device = SimDevice(seed, host_orders=False)
    encoder, _ = opened(device)
    grey = Size(32, 48)
    color = ColorInfo(matrix=Matrix.BT601, range=Range.FULL)
    packets = [
        packet for frame in frames(device, 3, size=grey, color=color) for packet in encoder.encode(frame)
    ]
    for picture in decoded(packets):
        assert (picture.width, picture.height) == (64, 48)
        luma = luma_of(picture).astype(int)
        assert np.abs(luma[:, :14] - 16).max() <= CLOSE  # bars of limited range
        assert np.abs(luma[:, 50:] - 16).max() <= CLOSE
        expected = 16 + pattern_planes(grey, 0)[0][:, 4:28].astype(int) * 219 / 255
        assert abs(luma[:, 20:44].mean() - expected.mean()) < 20
    device.assert_no_races()


def test_a_picture_of_another_device_is_refused() -> None:
    encoder, _ = opened(CpuDevice())
    with pytest.raises(DeviceError, match="lies on cpu"):
        encoder.encode(next(frames(CpuDevice(), 1)))


@pytest.mark.parametrize(
    ("faults", "capabilities", "reason"),
    [
        (Faults(sessions=0), None, "too many use it"),
        (None, Capabilities(no_encoder="this GPU has no NVENC"), "has no NVENC"),
        (None, Capabilities(encoder=Engine(Size(160, 64), Size(4096, 4096))), "160x64 and more"),
        (Faults(delay=9, no_flush=True), None, "9 pictures late, and 4 are allowed"),
        (Faults(encode_fails=frozenset({3})), None, "NVENC fails"),
    ],
)
def test_x264_takes_over_and_says_why(
    tmp_path: Path, faults: Faults | None, capabilities: Capabilities | None, reason: str
) -> None:
    device = SimDevice(1, kind="cuda")
    codecs = stand_in_codecs(device, faults, capabilities)
    sink = FileSink(tmp_path / "out.mp4", device, OUTPUT, codecs=codecs)
    sink.open(CONTEXT)
    for frame in frames(device, 12):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    sink.close()
    [fallback] = sink.fallbacks
    assert (fallback.wanted, fallback.got) == ("nvenc", "x264")
    assert reason in fallback.reason
    expected = 12 if "late" not in reason else 8  # what is inside an encoder that is given up is lost
    assert len(decode_clip(sink.path)) == expected
    device.assert_no_races()


class Leaving(SimDevice):
    """A GPU that is lost on command, with all that it has under way."""

    lost = False

    def stream(self, name: str) -> Any:
        if self.lost:
            raise DeviceLostError("the GPU is gone")
        return super().stream(name)


@pytest.mark.parametrize(
    ("no_flush", "count", "told"), [(False, 12, "NVENC fails"), (True, 9, "3 pictures that were inside it")]
)
def test_what_nvenc_holds_when_it_fails_is_recorded_if_it_can_be_had(
    tmp_path: Path, no_flush: bool, count: int, told: str
) -> None:
    """It holds three pictures back, and its GPU, which nobody may ask for anything, is lost."""
    device = Leaving(1, kind="cuda")
    codecs = stand_in_codecs(device, Faults(delay=3, encode_fails=frozenset({6})))
    sink = FileSink(tmp_path / "out.mp4", device, OUTPUT, codecs=codecs)
    sink.open(CONTEXT)
    for frame in frames(device, 6):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    last = next(frames(device, 1, first=6))
    device.lost = True
    if no_flush:
        codecs.module.encoders[0].EndEncode = refuse
    with pytest.raises(DeviceLostError):
        sink.write(RenderedFrame(last, Outcome.CLEAR))
    for frame in frames(CpuDevice(), 6, first=6):
        sink.write(RenderedFrame(frame, Outcome.SAFE))
    sink.close()
    [fallback] = sink.fallbacks
    assert told in fallback.reason
    numbers = [most_like(picture) for picture in decode_clip(sink.path)]
    assert numbers == [*range(count - 6), *range(6, 12)]


def most_like(picture: Any) -> int:
    """Number of the pattern that a picture shows."""
    luma = luma_of(picture).astype(int)
    return min(range(12), key=lambda index: np.abs(luma - pattern_planes(SIZE, index)[0]).mean())


def refuse() -> list[Any]:
    raise RuntimeError("the GPU is gone")


def test_a_recording_whose_gpu_is_lost_at_the_end_is_finished(tmp_path: Path) -> None:
    device = SimDevice(1, kind="cuda")
    codecs = stand_in_codecs(device, Faults(delay=3))
    sink = FileSink(tmp_path / "out.mp4", device, OUTPUT, codecs=codecs)
    sink.open(CONTEXT)
    for frame in frames(device, 6):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    codecs.module.encoders[0].EndEncode = refuse
    sink.close()
    assert "3 pictures that were inside it are lost" in sink.fallbacks[0].reason
    with av.open(str(sink.path)) as container:
        assert container.duration == 100_000, "an ordinary MP4 with its index"
        assert len(list(container.decode(video=0))) == 3


def test_a_session_is_given_back() -> None:
    device = CpuDevice()
    codecs = stand_in_codecs(device, Faults(sessions=1))
    for _ in range(3):
        encoder = ChosenEncoder(device, codecs=codecs)
        encoder.open(OUTPUT)
        assert encoder.fallbacks == ()
        codecs.module.encoders.clear()
        encoder.close()


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize("delay", [0, 3])
def test_a_recording_shows_the_same_pictures_at_the_same_times(
    tmp_path: Path, suffix: str, delay: int
) -> None:
    path = write(tmp_path / "in.mp4", 30, time_base=Fraction(1, 1000), pts=[7 + 41 * i for i in range(30)])
    device = SimDevice(4, host_orders=False)
    codecs = stand_in_codecs(device, Faults(delay=delay))
    source = FileSource(path, device, codecs=codecs)
    source.open(CONTEXT)
    sink = FileSink(tmp_path / f"out{suffix}", device, OutputFormat.of(source.format), codecs=codecs)
    sink.open(CONTEXT)
    while not isinstance(item := source.read(), Eos):
        if isinstance(item, Frame):
            sink.write(RenderedFrame(item, Outcome.CLEAR))
    sink.close()
    source.close()
    assert sink.fallbacks == source.fallbacks == ()
    pictures = decode_clip(sink.path)
    assert [close_to_pattern(picture, index) for index, picture in enumerate(pictures)] == [True] * 30
    wanted, got = packet_times(path, "video"), packet_times(sink.path, "video")
    assert [time - got[0] for time in got] == pytest.approx([time - wanted[0] for time in wanted], abs=0.001)
    assert sink.stats.frames == 30
    device.assert_no_races()


def test_names_that_the_library_does_not_know_are_ours_to_find() -> None:
    arguments = encoder_arguments(Fraction(30000, 1001), 6_000_000, gpu=1, stream=7)
    assert set(arguments) == ARGUMENTS
    assert arguments["vbvbufsize"] == 200_000
    assert arguments["bf"] == 0
    with pytest.raises(GraphError, match="lookahed"):
        checked({**arguments, "lookahed": 0})


@pytest.mark.parametrize(
    ("size", "fps", "bits"),
    [(Size(1920, 1080), 30, 7_464_960), (Size(64, 48), 30, 1_000_000), (Size(3840, 2160), 60, 59_719_680)],
)
def test_the_bitrate_follows_the_pictures(size: Size, fps: int, bits: int) -> None:
    assert bitrate_for(size, Fraction(fps)) == bits
