"""A recording beside live outputs: their packets, encoded once, with nothing lost between its parts."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from livefusion.core.errors import OutputError
from livefusion.core.events import Eos
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.settings import RecordingSettings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.encode.member import WAITING, ShareMember, packet_of
from livefusion.media.encode.outlet import TIME_BASE, EncodedPicture
from livefusion.media.encode.share import EncoderShare
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.file import FileSink
from livefusion.media.sinks.shared_file import SharedFileSink
from livefusion.media.sinks.split import Split
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.uri import FileLocator
from livefusion.pipeline.ends import Ends, make_sink
from livefusion.runtime.stage import StageContext
from livefusion.testing.beacon import skews, worst, write_beacon
from livefusion.testing.media import (
    LOSSLESS_H264,
    ClipFormat,
    decode_clip,
    luma_of,
    packet_times,
    pattern_picture,
    pattern_planes,
    write_clip,
)

pytestmark = pytest.mark.media

SIZE, OTHER = Size(64, 48), Size(96, 64)
CONTEXT = StageContext("test", SystemClock())
FPS, SECONDS = 20, 5


@pytest.fixture(scope="module")
def beacon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_beacon(tmp_path_factory.mktemp("beacon") / "clip.mp4", SIZE, FPS, SECONDS, period=0.5)


@contextmanager
def playing(path: Path) -> Iterator[tuple[FileSource, OutputFormat]]:
    source = FileSource(path, CpuDevice())
    source.open(CONTEXT)
    try:
        yield source, OutputFormat.of(source.format, source.audio)
    finally:
        source.close()


def frames_of(source: FileSource) -> Iterator[Frame]:
    while not isinstance(item := source.read(), Eos):
        if isinstance(item, Frame):
            yield item


def pattern_clip(path: Path, size: Size, frames: int) -> Path:
    form = ClipFormat(codec="libx264", options=LOSSLESS_H264)
    return write_clip(path, (pattern_picture(size, index) for index in range(frames)), form)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_parts_follow_each_other_without_a_loss(beacon: Path, suffix: str, tmp_path: Path) -> None:
    share = EncoderShare(8_000_000)
    with playing(beacon) as (source, output):
        sink = SharedFileSink(tmp_path / f"out{suffix}", CpuDevice(), output, share, split=Split(seconds=2))
        sink.open(CONTEXT)
        for frame in frames_of(source):
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
        sink.close()
    parts = sorted(tmp_path.iterdir(), key=lambda part: (len(part.name), part.name))
    counts = [len(decode_clip(part)) for part in parts]
    assert sum(counts) == sink.stats.frames == FPS * SECONDS
    assert [part.stem for part in parts] == ["out", "out-2", "out-3"]
    # A part ends with the key frame after its limit, which comes at once.
    assert all(abs(count - 2 * FPS) <= 3 for count in counts[:2])
    assert worst(one for part in parts for one in skews(str(part))) < 0.045
    assert (share.encoders, sink.stats.encoders, sink.stats.errors) == (1, 0, [])


def test_beside_a_live_output_every_picture_is_encoded_once(beacon: Path, tmp_path: Path) -> None:
    share, device = EncoderShare(8_000_000), CpuDevice()
    live = ShareMember(share, device)
    sent: list[EncodedPicture] = []
    with playing(beacon) as (source, output):
        sink = SharedFileSink(tmp_path / "out.mkv", device, output, share)
        live.join(replace(output, time_base=TIME_BASE))
        sink.open(CONTEXT)
        for frame in frames_of(source):
            # Now this one is first, now that one.
            if frame.seq % 2:
                sent += live.take(frame, output)
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
            if not frame.seq % 2:
                sent += live.take(frame, output)
        sink.close()
        live.leave()
    with av.open(str(sink.path)) as container:
        kept = [bytes(one) for one in container.demux(video=0) if one.size]
    assert share.encoders == 1
    assert len(kept) == len(sent) == FPS * SECONDS
    assert sum(map(len, kept)) == pytest.approx(share.bytes, rel=0.02)
    keys = [one.pts / 90_000 for one in sent if one.is_key]
    assert max(later - key for key, later in pairwise(keys)) < 1.2


def test_pictures_of_another_size_go_on_in_a_part_of_their_own(tmp_path: Path) -> None:
    share, device = EncoderShare(8_000_000), CpuDevice()
    clips = [pattern_clip(tmp_path / f"{size}.mp4", size, 10) for size in (SIZE, OTHER)]
    with playing(clips[0]) as (first, output), playing(clips[1]) as (second, _):
        sink = SharedFileSink(tmp_path / "out.mp4", device, output, share)
        sink.open(CONTEXT)
        for frame in frames_of(first):
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
        for frame in frames_of(second):
            later = replace(frame, ts=frame.ts + Fraction(1))
            sink.write(RenderedFrame(later, Outcome.CLEAR))
        sink.close()
    for name, size in (("out", SIZE), ("out-2", OTHER)):
        pictures = decode_clip(tmp_path / f"{name}.mp4")
        assert [(one.width, one.height) for one in pictures] == [(size.width, size.height)] * 10
        for index, picture in enumerate(pictures):
            assert np.abs(luma_of(picture).astype(int) - pattern_planes(size, index)[0]).mean() < 6
        assert packet_times(tmp_path / f"{name}.mp4", "video")[0] == 0


def test_an_output_that_hangs_keeps_few_pictures_and_goes_on_with_a_key_frame(beacon: Path) -> None:
    share, device = EncoderShare(8_000_000), CpuDevice()
    fast, slow = ShareMember(share, device), ShareMember(share, device)
    with playing(beacon) as (source, output):
        fast.join(output)
        slow.join(output)
        got, last = [], 0
        for frame in frames_of(source):
            last = frame.ts.rescale(TIME_BASE).pts
            list(fast.take(frame, output))
            assert len(slow._pictures) <= WAITING
            if frame.seq == FPS * SECONDS - 1:
                got = list(slow.take(frame, output))
        fast.leave()
        slow.leave()
    assert got[0].is_key
    assert got[-1].pts == last
    assert packet_of(got[0]).is_keyframe


def test_a_hung_output_does_not_hold_the_encoder(beacon: Path) -> None:
    """While one output writes what it took, the others encode."""
    share, device = EncoderShare(8_000_000), CpuDevice()
    hung, live = ShareMember(share, device), ShareMember(share, device)
    release, taken = threading.Event(), threading.Event()
    with playing(beacon) as (source, output):
        frames = frames_of(source)
        first = next(frames)
        hung.join(output)
        live.join(output)

        def hang() -> None:
            for _ in hung.take(first, output):
                taken.set()
                release.wait(timeout=30)

        thread = threading.Thread(target=hang)
        thread.start()
        try:
            assert taken.wait(timeout=30)
            assert sum(len(list(live.take(next(frames), output))) for _ in range(10)) == 11
        finally:
            release.set()
            thread.join(timeout=30)
        hung.leave()
        live.leave()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_clear_error(beacon: Path, tmp_path: Path) -> None:
    (tmp_path / "out.mp4").symlink_to("/dev/full")
    with playing(beacon) as (source, output):
        sink = SharedFileSink(tmp_path / "out.mp4", CpuDevice(), output, EncoderShare(8_000_000))
        sink.open(CONTEXT)
        with pytest.raises(OutputError, match="No space left"):
            write_all(sink, source)
        sink.close()


def write_all(sink: FileSink, source: FileSource) -> None:
    for frame in frames_of(source):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))


@pytest.mark.parametrize(
    ("beside", "separate", "kind"),
    [(True, False, SharedFileSink), (True, True, FileSink), (False, False, FileSink)],
)
def test_which_recording_is_made(
    beacon: Path, tmp_path: Path, beside: bool, separate: bool, kind: type[FileSink]
) -> None:
    with playing(beacon) as (_, output):
        sink = make_sink(
            FileLocator(tmp_path / "out.mp4"),
            CpuDevice(),
            output,
            (),
            share=EncoderShare(8_000_000),
            recording=RecordingSettings(separate_encoder=separate),
            encodes_live=beside,
        )
    assert type(sink) is kind


@pytest.mark.parametrize(
    ("outputs", "encodes"),
    [(("out.mp4", "vcam:"), False), (("out.mp4", "webrtc:"), True), (("out.mp4",), False)],
)
def test_which_outputs_encode_live(outputs: tuple[str, ...], encodes: bool) -> None:
    from livefusion.media.sources.uri import parse_input, parse_output

    assert Ends(parse_input("camera:0"), tuple(map(parse_output, outputs))).encodes_live is encodes
