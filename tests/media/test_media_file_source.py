import gc
import os
import random
import threading
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.errors import InputError
from livefusion.core.events import Eos, Event, FormatChange
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.sources.file import FileSource
from livefusion.runtime.stage import StageContext
from livefusion.testing.media import LOSSLESS_H264, ClipFormat, pattern_picture, pattern_planes, write_clip

pytestmark = pytest.mark.media

SIZE = Size(64, 48)
PLAYLIST = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nclip.ts\n"


def opened(path: Path, **options: Any) -> FileSource:
    source = FileSource(path, CpuDevice(), **options)
    source.open(StageContext("file", SystemClock()))
    return source


def read_all(source: FileSource) -> list[Frame | Event]:
    items: list[Frame | Event] = []
    while not isinstance(item := source.read(), Eos):
        if isinstance(item, Frame):
            # Keep no slot: only what the tests look at.
            item = item.with_buffer(Copied(item))
        items.append(item)
    assert isinstance(source.read(), Eos)
    source.close()
    return items


class Copied:
    device, ready = "copy", None

    def __init__(self, frame: Frame) -> None:
        self.luma, self.chroma = frame.buffer.luma.copy(), frame.buffer.chroma.copy()

    def after(self, event: object) -> "Copied":
        return self


def write(path: Path, frames: int = 10, size: Size = SIZE, **form: Any) -> Path:
    return write_clip(path, (pattern_picture(size, index) for index in range(frames)), ClipFormat(**form))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.mkv", {"codec": "ffv1"}),
        ("a.mp4", {"codec": "libx264", "options": LOSSLESS_H264}),
        ("Übung 日本.mp4", {"codec": "libx264", "options": LOSSLESS_H264}),
        (
            "reordered.mp4",
            {"codec": "libx264", "options": {"qp": "0", "bf": "3", "x264-params": "b-adapt=0"}},
        ),
        ("sound.mkv", {"codec": "ffv1", "sound": "aac"}),
    ],
)
@pytest.mark.parametrize("pace", list(Pace))
def test_gives_every_picture_in_order(tmp_path: Path, name: str, form: dict[str, Any], pace: Pace) -> None:
    source = opened(write(tmp_path / name, fps=Fraction(120), **form), pace=pace)
    frames = read_all(source)

    assert [frame.seq for frame in frames] == list(range(10))
    for index, frame in enumerate(frames):
        y, u, v = pattern_planes(SIZE, index)
        np.testing.assert_array_equal(frame.buffer.luma, y)
        np.testing.assert_array_equal(frame.buffer.chroma, np.stack([u, v], axis=2))
    assert source.format.size == SIZE
    assert source.format.has_audio == ("sound" in form)


@pytest.mark.parametrize("pace", list(Pace))
def test_reordered_pictures_come_in_the_order_of_presentation(tmp_path: Path, pace: Pace) -> None:
    path = write(tmp_path / "b.mp4", codec="libx264", fps=Fraction(120), options={"qp": "1", "bf": "3"})
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.has_b_frames
    frames = read_all(opened(path, pace=pace))

    patterns = np.stack([pattern_planes(SIZE, index)[0] for index in range(10)]).astype(int)
    errors = [np.abs(patterns - frame.buffer.luma).mean(axis=(1, 2)) for frame in frames]
    assert [int(error.argmin()) for error in errors] == list(range(10))
    if pace is Pace.REALTIME:
        waits = [later.captured_ns - earlier.captured_ns for earlier, later in pairwise(frames)]
        assert max(waits) - min(waits) <= 1


@pytest.mark.parametrize("suffix", [".mkv", ".mp4"])
@pytest.mark.parametrize("start", [0, 500])
def test_variable_frame_rates_keep_their_timestamps(tmp_path: Path, suffix: str, start: int) -> None:
    pts = [start + ticks for ticks in (0, 33, 40, 200, 201, 250, 900, 950, 951, 1000)]
    path = write(
        tmp_path / f"vfr{suffix}", codec="libx264", options={"bf": "0"}, pts=pts, time_base=Fraction(1, 1000)
    )
    times = [frame.ts.pts * frame.ts.time_base for frame in read_all(opened(path))]
    assert [time - times[0] for time in times] == [Fraction(tick - start, 1000) for tick in pts]


@pytest.mark.parametrize(
    ("matrix", "turned", "rotation"),
    [
        ((0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30), lambda p: np.rot90(p, -1), 90),
        ((-65536, 0, 0, 0, -65536, 0, 0, 0, 1 << 30), lambda p: np.rot90(p, 2), 180),
        ((0, -65536, 0, 65536, 0, 0, 0, 0, 1 << 30), lambda p: np.rot90(p, 1), 270),
        ((-65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30), lambda p: p[:, ::-1], 0),
    ],
)
def test_rotated_phone_clips_stand_upright(tmp_path: Path, matrix: Any, turned: Any, rotation: int) -> None:
    path = write(
        tmp_path / "phone.mp4", codec="libx264", options=LOSSLESS_H264, display_matrix=matrix, frames=2
    )
    source = opened(path)
    frame = read_all(source)[0]

    y, u, v = pattern_planes(SIZE, 0)
    np.testing.assert_array_equal(frame.buffer.luma, turned(y))
    np.testing.assert_array_equal(frame.buffer.chroma, turned(np.stack([u, v], axis=2)))
    assert source.format.rotation == rotation
    assert (source.format.size == SIZE) == (rotation in (0, 180))


def test_odd_sizes_are_cropped_and_said(tmp_path: Path) -> None:
    source = opened(write(tmp_path / "odd.mkv", size=Size(65, 47)))
    assert source.format.size == Size(64, 46)
    assert "65x47" in source.format.note
    assert len(read_all(source)) == 10


@pytest.mark.parametrize(("duration", "expected"), [(0.2, 6), (0.001, 1), (100, 10)])
def test_duration_is_media_time(tmp_path: Path, duration: float, expected: int) -> None:
    assert len(read_all(opened(write(tmp_path / "a.mkv"), duration=duration))) == expected


def test_a_change_of_size_is_announced_before_its_first_frame(tmp_path: Path) -> None:
    parts = [
        write(tmp_path / f"{size}.ts", 5, size, codec="mpeg2video") for size in (Size(64, 48), Size(96, 64))
    ]
    joined = tmp_path / "joined.ts"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))

    items = read_all(opened(joined))

    change = next(index for index, item in enumerate(items) if isinstance(item, FormatChange))
    frames = [item for item in items if isinstance(item, Frame)]
    assert items[change].size == Size(96, 64)
    assert {frame.size for frame in items[:change] if isinstance(frame, Frame)} == {Size(64, 48)}
    assert {frame.size for frame in items[change:] if isinstance(frame, Frame)} == {Size(96, 64)}
    assert all(earlier.ts.pts < later.ts.pts for earlier, later in pairwise(frames))


def test_captured_time_is_when_the_picture_was_due(tmp_path: Path) -> None:
    frames = read_all(
        opened(
            write(tmp_path / "a.mkv", fps=Fraction(100), time_base=Fraction(1, 1000), pts=range(0, 100, 10)),
            pace=Pace.REALTIME,
        )
    )
    steps = {later.captured_ns - earlier.captured_ns for earlier, later in pairwise(frames)}
    assert steps == {10_000_000}


def test_an_interrupt_wakes_a_read_that_waits(tmp_path: Path) -> None:
    path = write(tmp_path / "slow.mkv", 2, time_base=Fraction(1, 1000), pts=[0, 9000])
    source = opened(path, pace=Pace.REALTIME)
    assert isinstance(source.read(), Frame)
    timer = threading.Timer(0.05, source.interrupt)
    timer.start()
    assert isinstance(source.read(), Eos)
    assert isinstance(source.read(), Eos)
    timer.join()
    source.close()


def test_pictures_are_freed_at_once_and_not_by_the_garbage_collector(tmp_path: Path) -> None:
    source = opened(write(tmp_path / "a.mp4", 40, codec="libx264", options=LOSSLESS_H264))
    gc.collect()
    gc.disable()
    try:
        while not isinstance(source.read(), Eos):
            pass
        alive = [one for one in gc.get_objects() if isinstance(one, av.VideoFrame)]
    finally:
        gc.enable()
        source.close()
    assert len(alive) <= 3


def test_probe_knows_the_format_before_the_graph_opens_the_source(tmp_path: Path) -> None:
    source = FileSource(write(tmp_path / "a.mkv"), CpuDevice())
    assert source.probe().size == SIZE
    source.open(StageContext("file", SystemClock()))
    assert len(read_all(source)) == 10
    source.open(StageContext("file", SystemClock()))
    assert len(read_all(source)) == 10


@pytest.mark.parametrize("keep", [0, 1, 100, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi", "a.gif", "a.ts"])
def test_truncated_files_end_or_are_refused(tmp_path: Path, name: str, keep: float) -> None:
    codec = {"a.gif": "gif", "a.avi": "mjpeg", "a.ts": "mpeg2video"}.get(name, "libx264")
    pixel_format = {"gif": "rgb8", "mjpeg": "yuvj420p"}.get(codec, "yuv420p")
    pictures = [pattern_picture(SIZE, index).reformat(format=pixel_format) for index in range(10)]
    path = write_clip(tmp_path / name, pictures, ClipFormat(codec=codec, pixel_format=pixel_format))
    data = path.read_bytes()
    path.write_bytes(data[: keep if isinstance(keep, int) else int(len(data) * keep)])
    survive(path)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", ["a.mp4", "a.mkv"])
def test_corrupt_files_end_or_are_refused(tmp_path: Path, name: str, seed: int) -> None:
    path = write(tmp_path / name, codec="libx264", sound="aac", options={"g": "4"})
    data, chance = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(1 << (seed % 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    survive(path)


def survive(path: Path) -> None:
    source, refusal = None, None
    try:
        source = opened(path)
    except InputError as error:
        refusal = error
    if source is None:
        assert refusal is not None
        assert refusal.remedy
        assert "\n" not in str(refusal)
        return
    frames = [item for item in read_all(source) if isinstance(item, Frame)]
    assert frames
    assert all(earlier.ts.pts < later.ts.pts for earlier, later in pairwise(frames))


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "does not exist"), (b"", "cannot be read"), (b"hello" * 500, "cannot be read")],
)
def test_what_is_no_video_is_refused(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "not.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        opened(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder"):
        opened(tmp_path)


def test_sound_alone_is_refused(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "sound.mka", [], ClipFormat(sound="aac"))
    with pytest.raises(InputError, match="no video"):
        opened(path)


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("a.mp4", "ffconcat version 1.0\nfile clip.mkv\n"),
        ("a.m3u8", PLAYLIST),
    ],
)
def test_a_file_that_names_other_files_is_refused(tmp_path: Path, name: str, script: str) -> None:
    write(tmp_path / "clip.mkv", 2)
    (tmp_path / name).write_text(script)
    with pytest.raises(InputError, match="not a kind of video file"):
        opened(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(InputError, match="is a pipe"):
        opened(tmp_path / "pipe.mp4")


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        opened(tmp_path / f"{'x' * 300}.mp4")


def test_pictures_that_the_decoder_had_to_make_up_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "a.mkv", codec="libx264", options={"g": "1"}, size=Size(320, 240))
    assert len(read_all(opened(path))) == 10
    assert not caplog.records
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(40)
    path.write_bytes(data)
    assert read_all(opened(path))
    [record] = caplog.records
    assert "1 damaged pictures" in record.getMessage()
