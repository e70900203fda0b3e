import errno
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceLostError, OutputError
from livefusion.core.events import Eos, Event
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.settings import RecordingSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.encode.x264 import X264Encoder
from livefusion.media.file_claim import FileClaim
from livefusion.media.formats import OutputFormat, OutputLabel
from livefusion.media.sinks.file import FileSink
from livefusion.media.sinks.recording import Recording
from livefusion.media.sinks.split import Split
from livefusion.media.sources.camera import CLOCK_RATE, TIME_BASE
from livefusion.media.sources.file import FileSource
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

SIZE = Size(64, 48)
CONTEXT = StageContext("test", SystemClock())


def write(path: Path, frames: int = 30, **form: Any) -> Path:
    form = {"codec": "libx264", "options": LOSSLESS_H264, **form}
    return write_clip(path, (pattern_picture(SIZE, index) for index in range(frames)), ClipFormat(**form))


def frames_of(source: FileSource) -> Iterator[Frame]:
    while not isinstance(item := source.read(), Eos):
        if not isinstance(item, Event):
            yield item


def record(source_path: Path, target: Path, *, first: int = 0, last: int | None = None) -> FileSink:
    source = FileSource(source_path, CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(target, CpuDevice(), OutputFormat.of(source.format, source.audio))
    sink.open(CONTEXT)
    for frame in frames_of(source):
        if frame.seq >= first and (last is None or frame.seq <= last):
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
    sink.close()
    source.close()
    return sink


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".MP4"])
def test_a_recording_shows_the_same_pictures_at_the_same_times(tmp_path: Path, suffix: str) -> None:
    source = write(
        tmp_path / "in.mp4", time_base=Fraction(1, 1000), pts=[7 + 41 * i + i % 5 for i in range(30)]
    )
    sink = record(source, tmp_path / f"out{suffix}")

    pictures = decode_clip(sink.path)
    assert len(pictures) == sink.stats.frames == 30
    for index, picture in enumerate(pictures):
        luma = luma_of(picture)
        assert np.abs(luma.astype(int) - pattern_planes(SIZE, index)[0]).mean() < 6
    sent = packet_times(source, "video")
    assert packet_times(sink.path, "video") == [time - sent[0] for time in sent]
    assert 0 < sink.stats.bytes < sink.path.stat().st_size
    assert sink.stats.errors == []


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_pause_of_an_hour_in_camera_time_is_kept(tmp_path: Path, suffix: str) -> None:
    source = FileSource(write(tmp_path / "in.mp4", 6), CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(
        tmp_path / f"out{suffix}", CpuDevice(), replace(OutputFormat.of(source.format), time_base=TIME_BASE)
    )
    sink.open(CONTEXT)
    ticks = [0, 3_000, 6_123, 3600 * CLOCK_RATE, 3600 * CLOCK_RATE + 3_000, 3601 * CLOCK_RATE]
    for pts, frame in zip(ticks, frames_of(source), strict=True):
        sink.write(RenderedFrame(replace(frame, ts=Timestamp(pts, TIME_BASE)), Outcome.CLEAR))
    sink.close()
    kept = packet_times(sink.path, "video")
    assert max(abs(time - pts * TIME_BASE) for time, pts in zip(kept, ticks, strict=True)) <= Fraction(
        1, 2000
    )


def test_the_finished_mp4_knows_its_duration_and_rate(tmp_path: Path) -> None:
    sink = record(write(tmp_path / "in.mp4"), tmp_path / "out.mp4")
    with av.open(str(sink.path)) as container:
        stream = container.streams.video[0]
        assert abs(float(stream.duration * stream.time_base) - 1.0) < 0.001
        assert stream.average_rate == 30
        assert stream.frames == 30


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_pixels_that_are_not_square_stay_so(tmp_path: Path, suffix: str) -> None:
    options = {**LOSSLESS_H264, "aspect": "4:3"}
    sink = record(write(tmp_path / "in.mp4", 5, options=options), tmp_path / f"out{suffix}")
    with av.open(str(sink.path)) as container:
        assert container.streams.video[0].sample_aspect_ratio == Fraction(4, 3)


@pytest.mark.parametrize("target", ["out.mp4", "out.mkv"])
@pytest.mark.parametrize(("sound", "source"), [("aac", "in.mp4"), ("libopus", "in.mkv"), ("ac3", "in.mkv")])
@pytest.mark.parametrize("first", [0, 10])
def test_sound_is_copied_in_sync_and_cut_to_the_pictures(
    tmp_path: Path, target: str, sound: str, source: str, first: int
) -> None:
    path = write(tmp_path / source, sound=sound, sound_seconds=3.0)
    sink = record(path, tmp_path / target, first=first, last=24)

    given, kept = packet_times(path, "audio"), packet_times(sink.path, "audio")
    origin, end = packet_times(path, "video")[first], packet_times(path, "video")[24] + Fraction(1, 30)
    expected = [time - origin for time in given if origin <= time < end]
    assert len(kept) == len(expected)
    assert max(abs(a - b) for a, b in zip(kept, expected, strict=True)) <= Fraction(1, 1000)
    with av.open(str(sink.path)) as container:
        assert container.streams.audio[0].codec_context.name.removeprefix("lib") == sound.removeprefix("lib")
        assert sum(frame.samples for frame in container.decode(audio=0)) > 0.4 * 48000


@pytest.mark.parametrize("sound", ["pcm_s16le", "mp2"])
def test_sound_that_mp4_cannot_carry_is_encoded_anew_in_sync(tmp_path: Path, sound: str) -> None:
    path = write(tmp_path / "in.mkv", sound=sound, sound_seconds=2.0)
    sink = record(path, tmp_path / "out.mp4")
    with av.open(str(sink.path)) as container:
        samples = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
        assert abs(samples.size / 48000 - 1.0) < 0.1
        assert container.streams.audio[0].codec_context.name == "aac"
    assert abs(packet_times(sink.path, "audio")[0]) < Fraction(30, 1000)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_sound_of_a_transport_stream_is_kept_in_sync(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / "in.ts", sound="aac", sound_seconds=2.0)
    sink = record(path, tmp_path / f"out{suffix}")
    assert len(decode_clip(sink.path)) == 30
    with av.open(str(sink.path)) as container:
        assert 0.9 < sum(frame.samples for frame in container.decode(audio=0)) / 48000 < 1.1


@pytest.mark.parametrize("name", ["in.mp4", "in.mkv", "in.ts"])
@pytest.mark.parametrize("seed", range(4))
def test_damaged_sound_never_stops_the_pictures(tmp_path: Path, name: str, seed: int) -> None:
    path = write(tmp_path / name, sound="aac", sound_seconds=2.0)
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(60):
        # The tone lies behind the pictures, which are muxed first.
        data[chance.randrange(len(data) * 2 // 3, len(data) * 9 // 10)] = chance.randrange(256)
    path.write_bytes(data)
    assert len(decode_clip(record(path, tmp_path / "out.mp4").path)) > 0


def test_pictures_outlast_the_sound(tmp_path: Path) -> None:
    path = write(tmp_path / "in.mkv", sound="aac", sound_seconds=0.2)
    assert len(decode_clip(record(path, tmp_path / "out.mp4").path)) == 30


KILLED = """
import os, signal
from pathlib import Path
from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.devices.cpu import CpuDevice
from livefusion.media.formats import OutputFormat, OutputLabel
from livefusion.media.sinks.file import FileSink
from livefusion.media.sinks.recording import Recording
from livefusion.media.sources.file import FileSource
from livefusion.core.settings import RecordingSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.runtime.stage import StageContext
context = StageContext("test", SystemClock())
source = FileSource(Path({source!r}), CpuDevice())
source.open(context)
sink = FileSink(Path({target!r}), CpuDevice(), OutputFormat.of(source.format, source.audio))
sink.open(context)
for _ in range(100):
    sink.write(RenderedFrame(source.read(), Outcome.CLEAR))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills with a signal")
@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize(("sound", "seconds"), [("", 0.0), ("aac", 4.0), ("aac", 0.3)])
def test_a_killed_recording_plays_all_but_its_last_second(
    tmp_path: Path, suffix: str, sound: str, seconds: float
) -> None:
    source = write(tmp_path / "in.mkv", 100, sound=sound, sound_seconds=seconds)
    target = tmp_path / f"out{suffix}"
    code = KILLED.format(source=str(source), target=str(target))

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert len(decode_clip(target)) >= 90


def test_a_stall_is_a_longer_picture_not_a_second_packet(tmp_path: Path) -> None:
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(tmp_path / "out.mp4", CpuDevice(), OutputFormat.of(source.format))
    sink.open(CONTEXT)
    for frame in frames_of(source):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    sink.close()
    assert len(decode_clip(sink.path)) == 30


class Failing(X264Encoder):
    """Cannot read the pictures of these numbers, as after the loss of a GPU."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(CpuDevice())
        self._numbers = set(numbers)

    def encode(self, frame: Frame, *, keyframe: bool = False) -> Sequence[Any]:
        if frame.seq in self._numbers:
            self._numbers.remove(frame.seq)
            raise DeviceLostError("the GPU is gone")
        return super().encode(frame, keyframe=keyframe)


@pytest.mark.parametrize("lost", [(0,), (3, 4), (29,)])
def test_what_stands_in_for_a_picture_that_could_not_be_read_takes_its_place(
    tmp_path: Path, lost: tuple[int, ...]
) -> None:
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(tmp_path / "out.mp4", CpuDevice(), OutputFormat.of(source.format), encoder=Failing(*lost))
    sink.open(CONTEXT)
    for frame in frames_of(source):
        try:
            sink.write(RenderedFrame(frame, Outcome.CLEAR))
        except DeviceLostError:
            sink.write(RenderedFrame(frame, Outcome.SAFE))
    sink.close()
    assert sink.stats.frames == len(decode_clip(sink.path)) == 30


def test_a_first_picture_that_could_not_be_read_leaves_no_file(tmp_path: Path) -> None:
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    sink = make(tmp_path / "out.mp4", encoder=Failing(0))
    sink.open(CONTEXT)
    with pytest.raises(DeviceLostError):
        sink.write(RenderedFrame(next(frames_of(source)), Outcome.CLEAR))
    sink.close()
    assert not (tmp_path / "out.mp4").exists()


def test_opened_again_it_goes_on_in_another_file(tmp_path: Path) -> None:
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(tmp_path / "out.mp4", CpuDevice(), OutputFormat.of(source.format))
    for count in (10, 20):
        sink.open(CONTEXT)
        for _ in range(count):
            sink.write(RenderedFrame(source.read(), Outcome.CLEAR))
        sink.close()
    assert sink.path == tmp_path / "out-2.mp4"
    assert len(decode_clip(tmp_path / "out.mp4")) == 10
    assert len(decode_clip(tmp_path / "out-2.mp4")) == 20


def make(path: Path, **options: Any) -> FileSink:
    return FileSink(
        path, CpuDevice(), OutputFormat(SIZE, Fraction(30), ColorInfo(), Fraction(1, 30)), **options
    )


def test_nothing_recorded_leaves_no_file(tmp_path: Path) -> None:
    sink = make(tmp_path / "out.mp4")
    sink.open(CONTEXT)
    sink.close()
    assert not (tmp_path / "out.mp4").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("out.avi", "end the name in"),
        ("out", "end the name in"),
        ("missing/out.mp4", "there is no folder"),
        ("folder.mp4", "cannot be written"),
    ],
)
def test_wrong_targets_are_refused_in_one_line(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(OutputError, match=says) as caught:
        make(tmp_path / name).open(CONTEXT)
    assert "\n" not in str(caught.value)


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "in.mp4", 2)
    before = path.read_bytes()
    link = tmp_path / "link.mp4"
    link.hardlink_to(path)
    for target in (path, link, tmp_path / "x" / ".." / "in.mp4"):
        with pytest.raises(OutputError):
            make(target, inputs=(path,)).open(CONTEXT)
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    target.symlink_to("/dev/full")
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    sink = FileSink(target, CpuDevice(), OutputFormat.of(source.format))
    with pytest.raises(OutputError, match="No space left"):
        write_all(sink, source)
    assert sink.stats.errors


def test_a_file_that_nothing_got_into_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk was full from the beginning: there is nothing to sign, either."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    finished: list[Path] = []
    source = FileSource(write(tmp_path / "in.mp4"), CpuDevice())
    source.open(CONTEXT)
    output = replace(OutputFormat.of(source.format), label=OutputLabel(b"", (), finished.append))
    sink = FileSink(tmp_path / "out.mp4", CpuDevice(), output)
    monkeypatch.setattr(Recording, "finish", refuse)
    sink.open(CONTEXT)
    for frame in frames_of(source):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    os.truncate(sink.path, 0)
    with pytest.raises(OutputError, match="No space left"):
        sink.close()
    assert not sink.path.exists()
    assert finished == []


def write_all(sink: FileSink, source: FileSource) -> None:
    sink.open(CONTEXT)
    for frame in frames_of(source):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    sink.close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(OutputError, match="is a pipe"):
        make(tmp_path / "pipe.mp4").open(CONTEXT)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        make(tmp_path / f"{'x' * 300}.mp4", inputs=(write(tmp_path / "in.mp4", 2),)).open(CONTEXT)


@pytest.mark.skipif(os.name != "posix", reason="needs locks of files")
def test_two_runs_never_write_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "out.mp4"
    path.write_bytes(b"of the first run")
    claim = FileClaim(path)
    path.write_bytes(b"its first pictures")
    with pytest.raises(OutputError, match="is being written by another run"):
        make(path).open(CONTEXT)
    assert path.read_bytes() == b"its first pictures"
    claim.release()
    sink = make(path)
    sink.open(CONTEXT)
    sink.close()
    FileClaim(path).release()


def test_joined_files_keep_the_sound_of_both(tmp_path: Path) -> None:
    form = {"codec": "mpeg2video", "options": {}, "sound": "mp2", "sound_seconds": 1.5}
    part = write(tmp_path / "part.ts", 45, **form).read_bytes()
    (tmp_path / "joined.ts").write_bytes(part + part)
    record(tmp_path / "joined.ts", tmp_path / "out.mkv")
    starts = packet_times(tmp_path / "out.mkv", "audio")
    assert starts[-1] > 2.8
    assert max(later - earlier for earlier, later in pairwise(starts)) < 0.2


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_parts_follow_each_other_without_a_loss(suffix: str, tmp_path: Path) -> None:
    clip = write_beacon(tmp_path / "clip.mp4", SIZE, 20, 5, period=0.5)
    source = FileSource(clip, CpuDevice())
    source.open(CONTEXT)
    output = OutputFormat.of(source.format, source.audio)
    sink = FileSink(tmp_path / f"out{suffix}", CpuDevice(), output, split=Split(seconds=2))
    sink.open(CONTEXT)
    for frame in frames_of(source):
        sink.write(RenderedFrame(frame, Outcome.CLEAR))
    sink.close()
    source.close()
    parts = [tmp_path / f"out{name}{suffix}" for name in ("", "-2", "-3")]
    assert [len(decode_clip(part)) for part in parts] == [40, 40, 20]
    assert [round(float(packet_times(part, "video")[0]), 3) for part in parts] == [0, 0, 0]
    found = [skews(str(part)) for part in parts]
    assert all(found)
    assert worst(one for part in found for one in part) < 0.045
    assert not (tmp_path / f"out-4{suffix}").exists()


@pytest.mark.parametrize(
    ("split", "seconds", "size", "due"),
    [
        (Split(), 1e9, 10**15, False),
        (Split(seconds=2), 1.99, 0, False),
        (Split(seconds=2), 2.0, 0, True),
        (Split(bytes=1000), 0.1, 999, False),
        (Split(bytes=1000), 0.1, 1000, True),
        (Split.of(RecordingSettings(split_mb=2)), 1, 2_000_000, True),
        (Split.of(RecordingSettings(split_seconds=60)), 59, 10**9, False),
    ],
)
def test_when_a_part_is_full(split: Split, seconds: float, size: int, due: bool) -> None:
    assert split.is_due(seconds, size) is due
