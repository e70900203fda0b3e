"""NVENC through FFmpeg, with x264 in its place: what it is told, what it gives, and what stands in for it."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceError, GraphError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.pool import FramePool
from livefusion.media.encode import ffmpeg_nvenc
from livefusion.media.encode.ffmpeg_nvenc import FfmpegNvencEncoder, nvenc_options
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.nvcodec import choose
from livefusion.media.nvcodec.choose import ChosenEncoder
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.media

SIZE, TICK = Size(160, 96), Fraction(1, 30)
OUTPUT = OutputFormat(SIZE, Fraction(30), ColorInfo(), TICK)


class StandIn(FfmpegNvencEncoder):
    """x264 at the same place, which FFmpeg lets change its bitrate in the same way."""

    lookahead, fails = "0", False

    def __init__(self, device: Any, **options: Any) -> None:
        super().__init__(device, name="libx264", **options)

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        if self.fails and frame.seq == 5:
            raise DeviceError("the driver is gone")
        return super().encode(frame, keyframe=keyframe)

    def _options(self, bitrate: int, fps: int) -> dict[str, str]:
        mine = super()._options(bitrate, fps)
        options = {name: mine[name] for name in ("b", "maxrate", "bf", "g", "forced-idr")}
        options |= {"bufsize": mine["b"], "preset": "ultrafast"}
        return options | (
            {"rc-lookahead": self.lookahead, "tune": "zerolatency"} if self.lookahead == "0" else {}
        )


class Late(StandIn):
    lookahead = "10"


class Failing(StandIn):
    fails = True


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise DeviceError("PyNvVideoCodec is not installed")

    monkeypatch.setattr(choose, "open_codecs", refuse)


def frames(device: SimDevice, count: int, noise: bool = False) -> Iterator[Frame]:
    pool, stream = FramePool(device, SIZE, limit=2), device.stream("writer")
    rng = np.random.default_rng(1)
    for index in range(count):
        buffer = pool.acquire(stream)
        luma = rng.integers(30, 200, (SIZE.height, SIZE.width), np.uint8)
        if not noise:
            luma[:] = 40 + index
        chroma = np.full((SIZE.height // 2, SIZE.width // 2, 2), 128, np.uint8)
        for target, values in ((buffer.luma, luma), (buffer.chroma, chroma)):
            device.run(
                partial(np.copyto, target, values),
                stream,
                reads=(),
                writes=(target,),
                name="draw",
            )
        buffer = buffer.after(stream.record())
        yield Frame(index, "test", Timestamp(index, TICK), 0, SIZE, ColorInfo(), buffer)


def decoded(packets: Sequence[Any]) -> list[Any]:
    context = av.CodecContext.create("h264", "r")
    pictures = [picture for packet in packets for picture in context.decode(packet)]
    return [*pictures, *context.decode(None)]


def test_what_it_is_told() -> None:
    options = nvenc_options(2, 6_000_000, 30)
    # Without these FFmpeg keeps pictures back, and asks for B-frames or a key frame of its own.
    assert {name: options[name] for name in ("delay", "zerolatency", "bf", "rc-lookahead", "tune")} == {
        "delay": "0",
        "zerolatency": "1",
        "bf": "0",
        "rc-lookahead": "0",
        "tune": "ull",
    }
    assert (options["gpu"], options["b"], options["bufsize"], options["g"]) == (
        "2",
        "6000000",
        "200000",
        "120",
    )


def test_without_a_driver_it_says_so() -> None:
    encoder = FfmpegNvencEncoder(SimDevice(1, kind="cuda"), name="h264_mf")  # of Windows: it never opens here
    with pytest.raises(DeviceError, match="h264_mf does not open"):
        encoder.open(OUTPUT)
    assert ffmpeg_nvenc.NAME in av.codecs_available


@pytest.mark.parametrize("seed", range(3))
def test_each_frame_gives_its_packet_at_once_with_keys_on_demand_and_each_second(seed: int) -> None:
    device = SimDevice(seed, kind="cuda")
    encoder = StandIn(device)
    encoder.open(OUTPUT)
    packets = []
    for frame in frames(device, 45):
        (packet,) = encoder.encode(frame, keyframe=frame.seq == 10)
        packets.append(packet)
    assert not encoder.flush()
    encoder.close()
    assert [one.pts for one in packets] == list(range(45))
    assert [one.pts for one in packets if one.is_keyframe] == [0, 10, 40]
    lumas = [int(np.frombuffer(one.planes[0], np.uint8)[0]) for one in decoded(packets)]
    assert all(later >= earlier for earlier, later in pairwise(lumas))
    assert len(lumas) == 45
    device.assert_no_races()


def test_the_bitrate_changes_without_a_key_frame() -> None:
    device = SimDevice(1, kind="cuda")
    encoder = StandIn(device, bitrate=5_000_000)
    encoder.open(OUTPUT)
    packets: list[Any] = []
    for frame in frames(device, 58, noise=True):
        if frame.seq == 14:
            encoder.set_bitrate(300_000)
        packets += encoder.encode(frame)
    encoder.close()
    assert [one.pts for one in packets if one.is_keyframe] == [0, 30], "each second, and not at 14"
    assert sum(one.size for one in packets[50:]) < 0.8 * sum(one.size for one in packets[6:14])
    assert encoder.bitrate == 300_000


def test_pictures_that_are_kept_back_are_a_fault() -> None:
    device = SimDevice(1, kind="cuda")
    encoder = Late(device)
    encoder.open(OUTPUT)
    with pytest.raises(GraphError, match="keeps pictures back"):
        encoder.encode(next(frames(device, 1)))
    encoder.close()


@pytest.mark.usefixtures("no_library")
@pytest.mark.parametrize(
    ("kind", "got", "count"), [(StandIn, ["h264_nvenc"], 12), (Failing, ["h264_nvenc", "x264"], 12)]
)
def test_it_is_the_middle_step_and_named_so(
    kind: type[StandIn], got: list[str], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "FfmpegNvencEncoder", kind)
    device = SimDevice(1, kind="cuda")
    encoder = ChosenEncoder(device, ceiling=1_000_000)
    encoder.open(OUTPUT)
    packets = [packet for frame in frames(device, count) for packet in encoder.encode(frame)]
    encoder.set_ceiling(500_000)
    encoder.close()
    assert [(one.wanted, one.got) for one in encoder.fallbacks] == [("nvenc", name) for name in got]
    assert encoder.fallbacks[0].reason == "PyNvVideoCodec is not installed"
    assert len(decoded(packets)) == count
    device.assert_no_races()


@pytest.mark.usefixtures("no_library")
def test_where_ffmpeg_has_no_driver_either_it_is_x264(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nowhere(FfmpegNvencEncoder):
        def open(self, output: OutputFormat) -> None:
            raise DeviceError("no driver")

    monkeypatch.setattr(choose, "FfmpegNvencEncoder", Nowhere)
    device = SimDevice(1, kind="cuda")
    encoder = ChosenEncoder(device)
    encoder.open(OUTPUT)
    assert len([packet for frame in frames(device, 3) for packet in encoder.encode(frame)]) == 3
    encoder.close()
    [fallback] = encoder.fallbacks
    assert (fallback.got, fallback.reason) == ("x264", "PyNvVideoCodec is not installed")


@pytest.mark.usefixtures("no_library")
def test_its_packets_go_to_all_outputs_and_a_viewers_wish_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "FfmpegNvencEncoder", StandIn)
    device = SimDevice(1, kind="cuda")
    share = EncoderShare(1_000_000)
    seen: list[Any] = []
    share.join(OUTPUT)
    share.outlet.attach(seen.append)
    for frame in frames(device, 12):
        if frame.seq == 8:
            share.outlet.request_key()
        share.write(frame, device, OUTPUT)
    share.leave()
    assert [one.is_key for one in seen] == [index in {0, 8} for index in range(12)]
    assert share.encoders == 1
