"""NVDEC, as far as a stand-in for its library can show: the same pictures as in software, and no race."""

import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from nv_tools import CONTEXT, SIZE, read, same, write

from livefusion.core.errors import InputError
from livefusion.core.events import FormatChange
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.media.decode.layout import DevicePicture
from livefusion.media.nvcodec.capabilities import Capabilities, Engine
from livefusion.media.nvcodec.decoder import NvdecDecoder
from livefusion.media.sources.file import FileSource
from livefusion.testing.media import LOSSLESS_H264, ClipFormat, decode_clip, pattern_picture, write_clip
from livefusion.testing.nvcodec import Faults, StandInModule, stand_in_codecs
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.media

REORDERED = {"qp": "1", "bf": "3", "x264-params": "b-adapt=0"}
HEVC = {"codec": "libx265", "options": {"x265-params": "lossless=1:log-level=none"}}
TURNED = {
    "90": (0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30),
    "180": (-65536, 0, 0, 0, -65536, 0, 0, 0, 1 << 30),
    "270": (0, -65536, 0, 65536, 0, 0, 0, 0, 1 << 30),
    "mirrored": (-65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30),
}
CLIPS: dict[str, dict[str, Any]] = {
    "plain.mp4": {},
    "plain.mkv": {},
    "annex_b.ts": {},
    "many_keys.mp4": {"options": {**LOSSLESS_H264, "g": "3"}},
    "reordered.mp4": {"options": REORDERED},
    "hevc.mp4": HEVC,
    "vp9.mkv": {"codec": "libvpx-vp9", "options": {"lossless": "1"}},
    "odd.mp4": {"size": Size(65, 47), "pixel_format": "yuv444p", "options": LOSSLESS_H264},
    "cropped.mp4": {"size": Size(66, 50)},
    "start.mp4": {"pts": [500 + 41 * i for i in range(12)]},
    **{f"{name}.mp4": {"display_matrix": matrix} for name, matrix in TURNED.items()},
}


def devices() -> list[Device]:
    return [CpuDevice(), SimDevice(1), SimDevice(2, kind="cuda", host_orders=False)]


def both(path: Path, device: Device, **options: Any) -> tuple[FileSource, Any, Any]:
    """The source on the stand-in, what came of it, and what comes of software."""
    source = FileSource(path, device, codecs=stand_in_codecs(device, **options))
    return source, read(source, device), read(FileSource(path, CpuDevice()), CpuDevice())


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("device", devices(), ids=("cpu", "sim", "sim-cuda"))
def test_frame_k_is_picture_k_of_software(tmp_path: Path, name: str, device: Device) -> None:
    source, (seen, events), (expected, expected_events) = both(write(tmp_path / name, **CLIPS[name]), device)

    assert len(seen) == 12
    assert same(seen, expected)
    assert events == expected_events
    assert source.format == FileSource(tmp_path / name, CpuDevice()).probe()
    if name == "odd.mp4":
        [fallback] = source.fallbacks
        assert "yuv444p" in fallback.reason
    else:
        assert source.fallbacks == ()
    if isinstance(device, SimDevice):
        device.assert_no_races()


def test_plain_streams_come_without_delay_and_reordered_ones_four_late(tmp_path: Path) -> None:
    for name, options, delay in (("plain.mp4", LOSSLESS_H264, 0), ("reordered.mp4", REORDERED, 4)):
        device = CpuDevice()
        path = write(tmp_path / name, options=options)
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            decoder = NvdecDecoder(stand_in_codecs(device), device, stream.codec_context, stream=stream)
            counts = [len(decoder.decode(packet)) for packet in container.demux(stream)]
        assert sum(counts) == 12
        if delay:
            assert counts[:delay] == [0] * delay
            assert counts[-1] >= delay
        else:
            assert counts == [1] * 12 + [0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["plain.mp4", "90.mp4"])
def test_no_order_of_work_gives_other_pictures(tmp_path: Path, seed: int, name: str) -> None:
    device = SimDevice(seed, host_orders=False)
    _, (seen, _), (expected, _) = both(write(tmp_path / name, 6, **CLIPS[name]), device)
    assert same(seen, expected)
    device.assert_no_races()


def kept(path: Path, device: SimDevice, frames: int) -> int:
    """Keep no frame for longer than the next: copies on a stream of its own, and slots that go round."""
    reader = device.stream("reader")
    target = device.empty((SIZE.height * 3 // 2, SIZE.width), "uint8")
    count = 0
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        decoder = NvdecDecoder(
            stand_in_codecs(device), device, stream.codec_context, stream=stream, pictures=0
        )
        for packet in container.demux(stream):
            for picture in decoder.decode(packet):
                assert isinstance(picture, DevicePicture)
                buffer = picture.buffer
                reader.wait(buffer.ready)
                device.copy(target, buffer.nv12, reader)
                buffer.read_until(reader.record(), reader)
                count += 1
                del picture, buffer
    device.synchronize()
    return count


def test_each_wait_is_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", 6)
    counted = SimDevice(0, host_orders=False)
    assert kept(path, counted, 6) == 6
    counted.assert_no_races()
    assert counted.mutation.count >= 6
    for index in range(counted.mutation.count):
        device = SimDevice(0, host_orders=False, drop_wait=index)
        kept(path, device, 6)
        if "DecoderSession.close" not in device.mutation.left_out:
            assert device.races, f"nobody noticed that {device.mutation.left_out} was missing"


def test_a_decoder_that_ends_before_its_pictures_are_copied_would_be_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", 4)
    expected, _ = read(FileSource(path, CpuDevice()), CpuDevice())
    site = "media/nvcodec/session.py:DecoderSession.close:0"
    device = SimDevice(0, drop_site=site)
    codecs = stand_in_codecs(device)
    source = FileSource(path, device, codecs=codecs)
    source.open(CONTEXT)
    codecs.module.decoders.clear()  # nothing but the product holds the decoder
    frames = [source.read() for _ in range(4)]
    source.close()
    device.synchronize()
    assert not all(
        np.array_equal(frame.buffer.luma, one.luma) for frame, one in zip(frames, expected, strict=True)
    )


def test_a_copy_put_after_the_next_packet_would_be_seen() -> None:
    """The trap that the stand-in sets: every call writes the same surface."""
    device = SimDevice(3)
    module = StandInModule(device)
    work, other = device.stream("decode"), device.stream("elsewhere")
    decoder = module.CreateDecoder(cudastream=work.handle, usedevicememory=True, latency=1)
    picture = pattern_picture(SIZE, 0)
    data = encoded(picture)
    packet = module.PacketData(decode_flag=8)
    memory = av.Packet(data)
    packet.bsl_data, packet.bsl = memory.buffer_ptr, memory.size
    [frame] = decoder.Decode(packet)
    view = frame.cuda()[0].__cuda_array_interface__
    surface = device.adopt(view["data"][0], view["shape"], view["strides"], view["typestr"])
    device.copy(device.empty(surface.shape, "uint8"), surface, other)
    device.synchronize()
    assert device.races


def encoded(picture: Any) -> bytes:
    context = av.CodecContext.create("libx264", "w")
    context.width, context.height, context.pix_fmt = picture.width, picture.height, "yuv420p"
    context.time_base, context.options = Fraction(1, 30), {"tune": "zerolatency", "preset": "ultrafast"}
    picture.pts = 0
    return b"".join(bytes(packet) for packet in context.encode(picture))


def joined(tmp_path: Path, *parts: dict[str, Any]) -> Path:
    """A transport stream whose parameter sets change."""
    path = tmp_path / "joined.ts"
    files = [write(tmp_path / f"{index}.ts", 6, **part) for index, part in enumerate(parts)]
    path.write_bytes(b"".join(file.read_bytes() for file in files))
    return path


@pytest.mark.parametrize("device", devices(), ids=("cpu", "sim", "sim-cuda"))
def test_a_change_of_size_makes_another_decoder(tmp_path: Path, device: Device) -> None:
    path = joined(tmp_path, {}, {"size": Size(96, 64)}, {"size": Size(32, 32), "options": REORDERED})
    source, (seen, events), (expected, expected_events) = both(path, device)
    assert len(seen) == 18
    assert same(seen, expected)
    assert [event for event in events if isinstance(event, FormatChange)]
    assert events == expected_events
    assert source.fallbacks == ()


def test_a_change_to_what_the_chip_does_not_decode_goes_on_in_software(tmp_path: Path) -> None:
    device = CpuDevice()
    path = joined(tmp_path, {}, {"pixel_format": "yuv444p"}, {})
    source, (seen, _), (expected, _) = both(path, device)
    assert same(seen, expected)
    [fallback] = source.fallbacks
    assert (fallback.wanted, fallback.got) == ("nvdec", "software")
    assert "yuv444p" in fallback.reason


@pytest.mark.parametrize(
    ("clip", "capabilities", "reason"),
    [
        ({}, Capabilities({"hevc": Engine(Size(2, 2), SIZE)}), "does not decode H.264"),
        ({}, Capabilities({"h264": Engine(Size(2, 2), Size(32, 32))}), "up to 32x32, not 64x48"),
        ({}, Capabilities({"h264": Engine(Size(128, 128), Size(4096, 4096))}), "128x128 and more"),
        ({}, Capabilities(no_decoder="the driver does not answer"), "the driver does not answer"),
        ({"pixel_format": "yuv420p10le", "options": {"qp": "0"}}, None, "yuv420p10le"),
        ({"codec": "mpeg4", "options": {}}, None, "not used for mpeg4"),
        ({"options": {**LOSSLESS_H264, "flags": "+ilme+ildct"}}, None, "deinterlace"),
    ],
)
def test_what_it_is_not_made_for_comes_from_software(
    tmp_path: Path, clip: dict[str, Any], capabilities: Capabilities | None, reason: str
) -> None:
    pictures = [pattern_picture(SIZE, index) for index in range(5)]
    form = ClipFormat(**({"codec": "libx264", "options": LOSSLESS_H264} | clip))
    converted = [picture.reformat(format=form.pixel_format) for picture in pictures]
    path = write_clip(tmp_path / "a.mp4", converted, form)
    source, (seen, _), (expected, _) = both(path, CpuDevice(), capabilities=capabilities)
    assert len(seen) == 5
    assert same(seen, expected)
    [fallback] = source.fallbacks
    assert reason in fallback.reason


def test_a_decoder_that_does_not_open_is_replaced(tmp_path: Path) -> None:
    source, (seen, _), (expected, _) = both(
        write(tmp_path / "a.mp4"), CpuDevice(), faults=Faults(no_decoder=True)
    )
    assert same(seen, expected)
    assert "Codec not supported" in source.fallbacks[0].reason


def test_one_failure_costs_the_pictures_up_to_the_next_key(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", options={**LOSSLESS_H264, "g": "4"})
    source, (seen, _), (expected, _) = both(path, CpuDevice(), faults=Faults(decode_fails=frozenset({5})))
    assert same(seen, [*expected[:5], *expected[8:]])
    assert source.fallbacks == ()


def test_a_damaged_key_frame_of_another_size_costs_its_pictures_alone(tmp_path: Path) -> None:
    device = CpuDevice()
    parts = [write(tmp_path / f"{width}.ts", 6, Size(width, 48)) for width in (64, 96, 32)]
    packets = []
    for part in parts:
        with av.open(str(part)) as container:
            packets += [packet for packet in container.demux(video=0) if packet.size]
    data = bytes(packets[6])
    at = data.index(b"\x00\x00\x01\x65")  # the slice of the key frame; its parameter sets stay
    packets[6] = av.Packet(data[: at + 5])
    decoder = NvdecDecoder(stand_in_codecs(device), device, av.CodecContext.create("h264", "r"))
    widths = []
    for index, packet in enumerate(packets):
        if 6 <= index < 12:
            with pytest.raises(InputError):
                decoder.decode(packet)
        else:
            widths += [picture.width for picture in decoder.decode(packet)]
    assert widths == [64] * 6 + [32] * 6


def test_repeated_failures_end_in_software(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "a.mp4", options={**LOSSLESS_H264, "g": "4"})
    fails = frozenset(range(5, 99))
    with caplog.at_level(logging.WARNING):
        source, (seen, _), (expected, _) = both(path, CpuDevice(), faults=Faults(decode_fails=fails))
    assert same(seen, [*expected[:5], *expected[8:]])
    assert "error 999" in source.fallbacks[0].reason
    assert any("3 damaged packets" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
@pytest.mark.parametrize("name", ["a.mkv", "a.ts"])
def test_a_truncated_file_gives_what_is_there(tmp_path: Path, name: str, keep: float) -> None:
    path = write(tmp_path / name, 30)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    _, (seen, _), (expected, _) = both(path, CpuDevice())
    assert same(seen, expected)


def test_packets_before_the_first_key_frame_are_skipped(tmp_path: Path) -> None:
    device = CpuDevice()
    path = write(tmp_path / "a.ts", 8, options={**LOSSLESS_H264, "g": "4"})
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    context = av.CodecContext.create("h264", "r")
    decoder = NvdecDecoder(stand_in_codecs(device), device, context)
    with pytest.raises(InputError, match="damaged or missing"):
        decoder.decode(packets[1])
    assert sum(len(decoder.decode(packet)) for packet in packets[4:]) == 4


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_packets_from_the_network_need_no_container(tmp_path: Path, codec: str) -> None:
    device = SimDevice(5, host_orders=False)
    form = HEVC if codec == "hevc" else {"options": {**LOSSLESS_H264, "g": "4"}}
    path = write(tmp_path / "a.ts", 8, **form)
    expected, _ = read(FileSource(path, CpuDevice()), CpuDevice())
    with av.open(str(path)) as container:
        received = [(bytes(packet), packet.pts) for packet in container.demux(video=0) if packet.size]
    decoder = NvdecDecoder(stand_in_codecs(device), device, av.CodecContext.create(codec, "r"))
    pictures = []
    for data, pts in received:
        packet = av.Packet(data)
        packet.pts = pts
        pictures += decoder.decode(packet)
    pictures += decoder.decode(av.Packet())
    device.synchronize()
    assert [picture.pts for picture in pictures] == [one.pts for one in expected]
    for picture, one in zip(pictures, expected, strict=True):
        np.testing.assert_array_equal(picture.buffer.luma, one.luma)
    assert decoder.fallbacks == ()


def test_reordered_pictures_that_nobody_announced_are_noticed(tmp_path: Path) -> None:
    device = CpuDevice()
    codecs = stand_in_codecs(device)
    path = write(tmp_path / "a.ts", 12, options={**REORDERED, "g": "6"})
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux(video=0) if packet.size]
    decoder = NvdecDecoder(codecs, device, av.CodecContext.create("h264", "r"))
    for packet in packets:
        decoder.decode(packet)
    assert len(codecs.module.decoders) == 2


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
@pytest.mark.parametrize("form", ["plain", "reordered", "one key frame"])
def test_it_moves_to_new_memory_of_its_device_and_to_another_device(
    tmp_path: Path, form: str, suffix: str
) -> None:
    """Neither move costs a picture: the file is read again from a key frame on."""
    options = {"plain": {"g": "5"}, "reordered": {"g": "5", "bf": "2"}, "one key frame": {"g": "99"}}[form]
    path = write(tmp_path / f"a{suffix}", 20, options={**LOSSLESS_H264, "bf": "0", **options})
    first, second = SimDevice(1), CpuDevice()
    source = FileSource(path, first, codecs=stand_in_codecs(first))
    expected = decode_clip(path)
    source.open(CONTEXT)
    pts = [source.read().ts.pts for _ in range(3)]
    source.move(first, 4)
    pts += [source.read().ts.pts for _ in range(3)]
    source.move(second, 4)
    frame = source.read()
    pts.append(frame.ts.pts)
    assert frame.buffer.home is second
    while isinstance(item := source.read(), Frame):
        pts.append(item.ts.pts)
    assert pts == [one.pts for one in expected]
    assert source.damage == ""
    assert "wanted on cpu" in source.fallbacks[0].reason
    source.close()
