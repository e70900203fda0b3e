import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import pytest
from stream_tools import free_port, nginx, program

from livefusion.core.errors import OutputError
from livefusion.core.events import Eos
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.network import amf, rtmp
from livefusion.media.network.address import StreamAddress, parse_stream
from livefusion.media.network.sink import StreamSink
from livefusion.media.network.source import StreamSource
from livefusion.media.sources.file import FileSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.beacon import skews, worst, write_beacon
from livefusion.testing.media import LOSSLESS_H264, ClipFormat, decode_clip, pattern_picture, write_clip

pytestmark = pytest.mark.net
CONTEXT = StageContext("output", SystemClock())
SECONDS, FPS, SIZE = 5, 20, Size(96, 64)
LIMIT = 0.045
"""Seconds of skew between sound and picture that people begin to notice."""


@pytest.fixture(scope="module")
def beacon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beacon(tmp_path_factory.mktemp("beacon") / "beacon.mp4", SIZE, FPS, SECONDS)


@contextmanager
def _clip(path: Path) -> Iterator[tuple[FileSource, OutputFormat]]:
    source = FileSource(path, CpuDevice())
    source.open(StageContext("decode", SystemClock()))
    try:
        yield source, OutputFormat.of(source.format, source.audio)
    finally:
        source.close()


def _address(url: str) -> StreamAddress:
    return parse_stream(url, OutputError)


def _sink(url: str, output: OutputFormat) -> StreamSink:
    return StreamSink(_address(url), "output", EncoderShare(8_000_000), CpuDevice(), output)


def _write_all(source: FileSource, sink: StreamSink) -> int:
    count = 0
    while not isinstance(entry := source.read(), Eos):
        if isinstance(entry, Frame):
            sink.write(RenderedFrame(entry, Outcome.CLEAR))
            count += 1
    return count


@contextmanager
def _recorder(url: str, path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Debian's ffmpeg as the server that records what is published."""
    command = [program("ffmpeg", "ffmpeg"), "-nostdin", "-loglevel", "error", "-listen", "1"]
    process = subprocess.Popen([*command, "-i", url, "-c", "copy", "-y", str(path)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _open(sink: StreamSink) -> None:
    """Open the sink as soon as its server listens."""
    while True:
        try:
            sink.open(CONTEXT)
        except OutputError as error:
            if "nobody answers" not in str(error):
                raise
        else:
            return


def test_sound_and_picture_arrive_together(beacon: Path, tmp_path: Path) -> None:
    url, path = f"rtmp://127.0.0.1:{free_port()}/live/key", tmp_path / "received.mkv"
    with _recorder(url, path) as recorder, _clip(beacon) as (source, output):
        sink = _sink(url, output)
        _open(sink)
        count = _write_all(source, sink)
        sink.close()
        recorder.wait()
    found = skews(str(path))
    assert len(found) == SECONDS - 1
    assert worst(found) < LIMIT
    with av.open(str(path)) as container:
        packets = [one for one in container.demux(video=0) if one.size]
    assert (len(packets), packets[0].is_keyframe) == (count, True)
    keys = [float(one.pts * one.time_base) for one in packets if one.is_keyframe]
    assert max(later - key for key, later in pairwise(keys)) < 1.2
    assert sink.stats.frames == count


def test_rtsp_arrives_together(beacon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Debian's ffmpeg takes one connection only: looking whether it answers would be that one.
    monkeypatch.setattr("livefusion.media.network.sink.require_answer", lambda _: None)
    url, path = f"rtsp://127.0.0.1:{free_port()}/live", tmp_path / "received.mkv"
    command = [program("ffmpeg", "ffmpeg"), "-nostdin", "-loglevel", "error", "-rtsp_flags", "listen"]
    recorder = subprocess.Popen([*command, "-i", url, "-c", "copy", "-y", str(path)])
    try:
        count = _written_when_answered(url, beacon)
        recorder.wait()
    finally:
        recorder.kill()
        recorder.wait()
    assert worst(skews(str(path))) < LIMIT
    with av.open(str(path)) as container:
        assert sum(1 for one in container.demux(video=0) if one.size) >= count * 0.9


def _written_when_answered(url: str, clip: Path) -> int:
    """Send a clip as soon as the server listens; the number of pictures."""
    while True:
        with _clip(clip) as (source, output):
            sink = _sink(url, output)
            sink.open(CONTEXT)
            try:
                return _write_all(source, sink)
            except OutputError as error:
                if "nobody answers" not in str(error):
                    raise
            finally:
                sink.close()


def test_large_pictures_and_long_streams(tmp_path: Path) -> None:
    clip = write_clip(
        tmp_path / "clip.mp4",
        (pattern_picture(Size(640, 360), index * 7) for index in range(4)),
        ClipFormat("libx264", options=LOSSLESS_H264),
    )
    url, path = f"rtmp://127.0.0.1:{free_port()}/live/key", tmp_path / "received.mkv"
    hours = Fraction(5 * 3600)  # beyond 24 bits of milliseconds
    with _recorder(url, path) as recorder, _clip(clip) as (source, output):
        sink = _sink(url, replace(output, audio=None))
        _open(sink)
        for late in (Fraction(0), hours, hours, hours):
            frame = source.read()
            assert isinstance(frame, Frame)
            sink.write(RenderedFrame(replace(frame, ts=frame.ts + late), Outcome.CLEAR))
        sink.close()
        recorder.wait()
    with av.open(str(path)) as container:
        packets = [one for one in container.demux(video=0) if one.size]
        times = [round(float(one.pts * one.time_base), 2) for one in packets]
    assert max(one.size for one in packets) > 3 * 4096  # several chunks
    assert times == [0.0, 18000.03, 18000.07, 18000.1]
    assert len(decode_clip(path)) == 4


@pytest.mark.parametrize("value", [None, True, False, 1.5, "Übung", {"a": {"b": "c"}, "d": None}, {}])
def test_amf_there_and_back(value: object) -> None:
    assert amf.decode(amf.encode(value) * 2) == [value, value]


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x02\x00\x09ab", b"\x03\x00\x01a", b"\x00\x01", b"\xff"])
def test_amf_that_is_cut_short_gives_nothing(data: bytes) -> None:
    assert amf.decode(data) == []


def test_a_skew_of_the_input_is_seen(tmp_path: Path) -> None:
    clip = write_beacon(tmp_path / "late.mp4", SIZE, FPS, 3, late=0.1)
    assert skews(str(clip)) == pytest.approx([0.1, 0.1], abs=0.005)


def test_datagrams_are_decoded_at_the_other_end(beacon: Path) -> None:
    url = f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}"
    received = StreamSource(_address(url), "input", CpuDevice())
    opened = threading.Thread(target=received.open, args=(CONTEXT,))
    opened.start()
    while opened.is_alive():
        with _clip(beacon) as (source, output):
            sink = _sink(url, output)
            sink.open(CONTEXT)
            _write_all(source, sink)
            sink.close()
    first = received.read()
    received.close()
    assert isinstance(first, Frame)
    assert first.size == SIZE
    assert received.format.has_audio


def test_after_a_lost_connection_it_goes_on_with_a_key_frame(beacon: Path, tmp_path: Path) -> None:
    url, path = f"rtmp://127.0.0.1:{free_port()}/live/key", tmp_path / "received.mkv"
    with _clip(beacon) as (source, output):
        sink = _sink(url, output)
        with _recorder(url, tmp_path / "first.mkv") as recorder:
            _open(sink)
            frame = source.read()
            assert isinstance(frame, Frame)
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
            recorder.kill()
            recorder.wait()
            with pytest.raises(OutputError, match="ended the connection"):
                _write_all(source, sink)
        sink.close()
    with _clip(beacon) as (source, output), _recorder(url, path) as recorder:
        _open(sink)
        count = _write_all(source, sink)
        sink.close()
        recorder.wait()
    with av.open(str(path)) as container:
        packets = [one for one in container.demux(video=0) if one.size]
    assert packets[0].is_keyframe
    assert len(packets) == count
    assert sink.stats.reconnects >= 1
    assert len(sink.stats.errors) == 1


def _only_frame(path: Path) -> tuple[Frame, OutputFormat]:
    with _clip(path) as (source, output):
        frame = source.read()
    assert isinstance(frame, Frame)
    return frame, replace(output, audio=None)


def test_a_picture_of_another_size_begins_the_stream_anew(tmp_path: Path) -> None:
    small, output = _only_frame(write_beacon(tmp_path / "small.mp4", Size(64, 48), FPS, 1))
    large, _ = _only_frame(write_beacon(tmp_path / "large.mp4", Size(96, 64), FPS, 1))
    url = f"rtmp://127.0.0.1:{free_port()}/live/key"
    received = StreamSource(parse_stream(f"{url}?listen=1", OutputError), "input", CpuDevice())
    sizes: list[Size] = []

    def read_both() -> None:
        received.open(CONTEXT)
        while len(sizes) < 2:
            if isinstance(entry := received.read(), Frame) and entry.size not in sizes:
                sizes.append(entry.size)

    reading = threading.Thread(target=read_both)
    reading.start()
    sink = _sink(url, output)
    _open(sink)
    sent = 0
    while reading.is_alive():
        frame = large if sizes else small
        ts = frame.ts + Fraction(sent, FPS)
        sink.write(RenderedFrame(replace(frame, ts=ts, seq=sent), Outcome.CLEAR))
        reading.join(1 / FPS)
        sent += 1
    sink.close()
    received.close()
    assert sizes == [Size(64, 48), Size(96, 64)]


def test_through_nginx(beacon: Path, tmp_path: Path) -> None:
    with nginx(tmp_path) as place, _clip(beacon) as (source, output):
        sink = _sink(f"{place}/key", output)
        sink.open(CONTEXT)
        received = StreamSource(_address(f"{place}/key"), "input", CpuDevice())
        opened = threading.Thread(target=received.probe)
        opened.start()
        _write_all(source, sink)
        while opened.is_alive():
            with _clip(beacon) as (again, _):
                sink.close()
                sink.open(CONTEXT)
                _write_all(again, sink)
        assert received.format.size == SIZE
        received.close()
        sink.close()


def test_an_application_that_is_not_there_is_told_without_the_key(tmp_path: Path, beacon: Path) -> None:
    with nginx(tmp_path) as place, _clip(beacon) as (_, output):
        sink = _sink(f"{place.removesuffix('live')}other/secret", output)
        with pytest.raises(OutputError, match=r"rtmp://127\.0\.0\.1:") as caught:
            sink.open(CONTEXT)
        sink.close()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["rtmp://127.0.0.1:1/live/secret", "rtsp://127.0.0.1:1/secret"])
def test_nobody_answers(url: str, beacon: Path) -> None:
    with _clip(beacon) as (_, output):
        sink = _sink(url, output)
        with pytest.raises(OutputError, match="nobody answers") as caught:
            sink.open(CONTEXT)
        sink.close()
    assert "secret" not in str(caught.value)


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtmp, "WRITE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = _address(f"rtmp://127.0.0.1:{server.getsockname()[1]}/live/key")
        with pytest.raises(TimeoutError):
            rtmp.RtmpPublisher(address)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n"])
def test_a_server_that_is_none_of_rtsp_stops_no_other_thread(
    answer: bytes, beacon: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livefusion.media.network.wire.CONNECT_SECONDS", 1.0)
    asked = []

    def serve(server: socket.socket) -> None:
        visitor, _ = server.accept()
        with visitor:
            asked.append(visitor.recv(4096))
            visitor.sendall(answer)
            stopped.wait(timeout=30)

    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server, _clip(beacon) as (_, output):
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        sink = _sink(f"rtsp://user:secret@127.0.0.1:{server.getsockname()[1]}/live", output)
        with pytest.raises(OutputError, match="nobody answers"):
            sink.open(CONTEXT)
        stopped.set()
        thread.join(timeout=30)
        sink.close()
    assert asked[0].startswith(b"OPTIONS rtsp://127.0.0.1:")
    assert b"secret" not in asked[0]
