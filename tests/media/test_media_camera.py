import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from livefusion.core.errors import DriverError
from livefusion.core.events import Discontinuity, Eos, FormatChange
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.sources import camera_av, camera_cv
from livefusion.media.sources.camera import CameraRequest, CameraSource, list_cameras
from livefusion.media.sources.capture import open_camera
from livefusion.media.sources.v4l2 import list_video_nodes
from livefusion.runtime.stage import StageContext
from livefusion.testing.media import ClipFormat, pattern_picture, pattern_planes, write_clip

pytestmark = pytest.mark.media

SIZE = Size(64, 48)


class FakeCapture:
    """Gives a picture each time ``feed`` is called, and fails or hangs when told."""

    codec, fps, backend = "mjpeg", Fraction(30), "fake"

    def __init__(self, size: Size = SIZE) -> None:
        self._size = size
        self._changed = threading.Condition()
        self._due: list[tuple[Any, int | None]] = []
        self._failed = False
        self.closed = threading.Event()

    def feed(self, index: int = 0, captured_ns: int | None = None) -> None:
        with self._changed:
            self._due.append((pattern_picture(self._size, index), captured_ns))
            self._changed.notify_all()

    def unplug(self) -> None:
        with self._changed:
            self._failed = True
            self._changed.notify_all()

    def read(self) -> tuple[Any, int | None]:
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._failed, 10)
            if self._due:
                return self._due.pop(0)
        raise DriverError("camera 0 stopped", "plug it in again")

    def close(self) -> None:
        self.closed.set()


def opener(*captures: FakeCapture | DriverError) -> Callable[[CameraRequest], FakeCapture]:
    left = list(captures)

    def open_next(request: CameraRequest) -> FakeCapture:
        capture = left.pop(0)
        if isinstance(capture, DriverError):
            raise capture
        return capture

    return open_next


def opened(*captures: FakeCapture | DriverError, duration: float | None = None) -> CameraSource:
    source = CameraSource(CameraRequest("0"), CpuDevice(), duration=duration, opener=opener(*captures))
    source.open(StageContext("camera", SystemClock()))
    return source


def test_reads_back_what_is_really_delivered_and_keeps_the_drivers_time() -> None:
    capture = FakeCapture()
    capture.feed(0, 1_000_000_000)
    source = opened(capture)
    assert source.format.size == SIZE
    assert source.format.note == "mjpeg through fake"

    frames = [source.read()]
    for index in (1, 2):
        capture.feed(index, 1_000_000_000 + index * 40_000_000)
        frames.append(source.read())
    source.close()

    assert [frame.seq for frame in frames] == [0, 1, 2]
    assert [frame.captured_ns for frame in frames] == [1_000_000_000, 1_040_000_000, 1_080_000_000]
    assert [frame.ts.pts for frame in frames] == [0, 3_600, 7_200]
    np.testing.assert_array_equal(frames[2].buffer.luma, pattern_planes(SIZE, 2)[0])
    assert source.measured_fps == pytest.approx(25)
    capture.unplug()
    assert capture.closed.wait(5)


def test_unplugged_and_plugged_in_again() -> None:
    first, second = FakeCapture(), FakeCapture(Size(96, 64))
    first.feed()
    away = DriverError("camera 0 cannot be opened", "plug one in")
    source = opened(first, away, away, second)
    before = source.read()
    first.unplug()

    assert isinstance(source.read(), Discontinuity)
    second.feed()
    change, after = source.read(), source.read()

    assert isinstance(change, FormatChange)
    assert change.size == after.size == Size(96, 64)
    assert after.seq == before.seq + 1
    assert after.ts.pts > before.ts.pts
    assert first.closed.wait(5)
    second.unplug()
    source.close()


def test_an_interrupt_ends_the_wait_for_a_camera_that_stays_away() -> None:
    capture = FakeCapture()
    capture.feed()
    away = [DriverError("away", "wait")] * 100
    source = opened(capture, *away)
    source.read()
    capture.unplug()
    assert isinstance(source.read(), Discontinuity)
    timer = threading.Timer(0.05, source.interrupt)
    timer.start()
    assert isinstance(source.read(), Eos)
    assert isinstance(source.read(), Eos)
    timer.join()
    source.close()


def test_an_interrupt_ends_the_wait_for_a_picture() -> None:
    capture = FakeCapture()
    capture.feed()
    source = opened(capture)
    assert isinstance(source.read(), Frame)
    timer = threading.Timer(0.05, source.interrupt)
    timer.start()
    assert isinstance(source.read(), Eos)
    timer.join()
    capture.unplug()
    source.close()


def test_the_newest_picture_wins() -> None:
    capture = FakeCapture()
    capture.feed(0)
    source = opened(capture)
    source.read()
    for index in range(1, 6):
        capture.feed(index)
    capture.unplug()
    assert capture.closed.wait(5)

    frame = source.read()

    np.testing.assert_array_equal(frame.buffer.luma, pattern_planes(SIZE, 5)[0])
    assert isinstance(source.read(), Discontinuity)
    source.close()


@pytest.mark.parametrize(("step_ns", "warns"), [(33_333_333, False), (66_666_667, True)])
def test_a_camera_slower_than_promised_is_reported_once(
    caplog: pytest.LogCaptureFixture, step_ns: int, warns: bool
) -> None:
    capture = FakeCapture()
    capture.feed(0, 1)
    source = opened(capture)
    for index in range(1, 200):
        source.read()
        capture.feed(index, 1 + index * step_ns)
    capture.unplug()
    source.close()
    assert sum("promised 30 fps and gives 15.0" in line for line in caplog.messages) == warns


def test_it_ends_after_its_duration() -> None:
    capture = FakeCapture()
    capture.feed(0, 1_000_000_000)
    source = opened(capture, duration=0.05)
    seen = []
    for index in range(1, 4):
        item = source.read()
        seen.append(isinstance(item, Frame))
        capture.feed(index, 1_000_000_000 + index * 30_000_000)
    assert seen == [True, True, False]
    capture.unplug()
    source.close()


def test_a_camera_that_cannot_be_opened_is_a_driver_error() -> None:
    with pytest.raises(DriverError, match="cannot be opened"):
        opened(DriverError("camera 0 cannot be opened", "plug one in"))


def test_a_camera_without_a_first_picture_is_a_driver_error_and_let_go() -> None:
    capture = FakeCapture()
    capture.unplug()
    with pytest.raises(DriverError, match="stopped"):
        opened(capture)
    assert capture.closed.wait(5)


@pytest.mark.skipif("lavfi" not in av.formats_available, reason="needs FFmpeg's test pictures")
def test_ffmpeg_devices_give_pictures_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(camera_av._FORMATS, sys.platform, "lavfi")
    capture = camera_av.AvCapture(CameraRequest("testsrc=size=64x48:rate=25:duration=0.2"))
    assert (capture.codec, capture.fps, capture.backend) == ("wrapped_avframe", 25, "lavfi")
    pictures = [capture.read() for _ in range(5)]
    assert {(picture.width, picture.height) for picture, _ in pictures} == {(64, 48)}
    assert all(captured_ns is None for _, captured_ns in pictures)
    with pytest.raises(DriverError, match="stopped"):
        capture.read()
    capture.close()


def test_opencv_devices_give_pictures_until_they_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(camera_cv, "_BACKENDS", {})
    form = ClipFormat(codec="mjpeg", pixel_format="yuvj420p", fps=Fraction(25))
    pictures = [pattern_picture(SIZE, index).reformat(format="yuvj420p") for index in range(3)]
    capture = camera_cv.CvCapture(
        CameraRequest(str(write_clip(tmp_path / "a.avi", pictures, form)), SIZE, 25)
    )
    assert (capture.codec, capture.fps) == ("rawvideo", 25)
    sizes = [capture.read()[0].width for _ in range(3)]
    assert sizes == [64, 64, 64]
    with pytest.raises(DriverError, match="stopped"):
        capture.read()
    capture.close()


@pytest.mark.parametrize("device", ["97", "/dev/video97", "/no/such/camera"])
def test_no_such_camera_here(device: str) -> None:
    with pytest.raises(DriverError) as caught:
        open_camera(CameraRequest(device, Size(1280, 720), 30))
    assert device in caught.value.problem
    assert caught.value.remedy


def test_lists_cameras_of_this_machine() -> None:
    assert all(camera.device in str(camera) for camera in list_cameras())


def test_sysfs_gives_real_cameras_in_order(tmp_path: Path) -> None:
    root, usb, virtual = tmp_path / "class", tmp_path / "devices/usb", tmp_path / "devices/virtual"
    root.mkdir()
    for name, parent, index, label in [
        ("video10", usb, "0", "Second"),
        ("video2", usb, "0", "First\n"),
        ("video3", usb, "1", "First"),
        ("video7", virtual, "0", "LiveFusion"),
    ]:
        node = parent / name
        node.mkdir(parents=True)
        (node / "index").write_text(index)
        (node / "name").write_text(label)
        (root / name).symlink_to(node)
    assert list_video_nodes(root) == [("/dev/video2", "First"), ("/dev/video10", "Second")]
    assert list_video_nodes(tmp_path / "missing") == []
