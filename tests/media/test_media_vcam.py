import importlib.util
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from livefusion.cli.probe.virtual_camera import INSTALL_DRIVER, LOAD_FOR_BROWSERS
from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import DriverError
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.geometry import Size
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks import vcam_writer
from livefusion.media.sinks.vcam import REMEDY, VirtualCameraSink
from livefusion.runtime.stage import StageContext
from livefusion.testing.loopback import build_loopback, loopback_environment, read_log
from livefusion.testing.media import patch_samples

pytestmark = pytest.mark.media

SIZE = Size(64, 48)
FULL_709 = ColorInfo(matrix=Matrix.BT709, range=Range.FULL)
WEBCAM = ColorInfo(matrix=Matrix.BT601, range=Range.LIMITED)
CONTEXT = StageContext("vcam", SystemClock())
SKIN = (224, 172, 140)


def rendered(color: ColorInfo, size: Size = SIZE) -> RenderedFrame:
    device = CpuDevice()
    buffer = FramePool(device, size).acquire(device.stream("test"))
    y, cb, cr = patch_samples(SKIN, color)
    buffer.luma[:], buffer.chroma[:] = y, (cb, cr)
    return RenderedFrame(
        Frame(0, "test", Timestamp(0, Fraction(1, 30)), 0, size, color, buffer), Outcome.SWAPPED
    )


def sink(color: ColorInfo = FULL_709, camera: str = "") -> VirtualCameraSink:
    return VirtualCameraSink(
        CpuDevice(), OutputFormat(SIZE, Fraction(30), color, Fraction(1, 30)), camera=camera
    )


class FakeCamera:
    """What pyvirtualcam.Camera does, without a driver."""

    def __init__(self, width: int, height: int, fps: float, **options: Any) -> None:
        self.size, self.fps, self.options = (width, height), fps, options
        self.device, self.native_fmt = options["device"] or "/dev/video9", options["fmt"]
        self.sent: list[np.ndarray] = []
        self.closed = False

    def send(self, picture: np.ndarray) -> None:
        self.sent.append(picture.copy())

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def cameras(monkeypatch: pytest.MonkeyPatch) -> list[FakeCamera]:
    made: list[FakeCamera] = []

    def make(*arguments: Any, **options: Any) -> FakeCamera:
        made.append(FakeCamera(*arguments, **options))
        return made[-1]

    module = SimpleNamespace(Camera=make, PixelFormat=SimpleNamespace(I420="I420"))
    monkeypatch.setitem(sys.modules, "pyvirtualcam", module)
    return made


@pytest.mark.parametrize("size", [SIZE, Size(128, 96), Size(32, 24)])
@pytest.mark.parametrize("color", [WEBCAM, FULL_709])
def test_sends_i420_of_the_opened_size_in_webcam_colours(
    cameras: list[FakeCamera], size: Size, color: ColorInfo
) -> None:
    target = sink(color, camera="/dev/video9")
    target.open(CONTEXT)
    target.write(rendered(color, size))
    target.close()

    (camera,) = cameras
    (picture,) = camera.sent
    assert camera.size == (64, 48)
    assert camera.options == {"fmt": "I420", "device": "/dev/video9"}
    assert picture.shape == (72, 64)
    y, cb, cr = patch_samples(SKIN, WEBCAM)
    assert np.abs(picture[:48].astype(int) - y).max() <= 2
    assert np.abs(picture[48:60].astype(int) - cb).max() <= 2
    assert np.abs(picture[60:].astype(int) - cr).max() <= 2
    assert camera.closed
    assert (target.stats.frames, target.stats.bytes) == (1, 64 * 72)


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyvirtualcam", None)
    with pytest.raises(DriverError, match="uv run --extra cpu --extra vcam"):
        sink().open(CONTEXT)


def test_a_driver_that_fails_later_is_a_driver_error(
    cameras: list[FakeCamera], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = sink()
    target.open(CONTEXT)

    def refuse(picture: np.ndarray) -> None:
        raise RuntimeError("device gone\nlong story")

    monkeypatch.setattr(target, "_write", refuse)
    with pytest.raises(DriverError, match="device gone") as caught:
        target.write(rendered(FULL_709))
    assert "\n" not in str(caught.value)
    assert target.stats.errors


needs_package = pytest.mark.skipif(
    sys.platform != "linux" or importlib.util.find_spec("pyvirtualcam") is None, reason="needs pyvirtualcam"
)


@needs_package
@pytest.mark.parametrize("camera", ["/dev/video97", "/no/such/camera"])
def test_a_missing_device_names_the_remedy(camera: str) -> None:
    with pytest.raises(DriverError) as caught:
        sink(camera=camera).open(CONTEXT)
    assert caught.value.remedy == REMEDY
    assert "modprobe v4l2loopback devices=1 exclusive_caps=1" in REMEDY
    assert "\n" not in str(caught.value)


PROGRAM = """
import test_media_vcam as t
target = t.sink(camera="/dev/video7")
target.open(t.CONTEXT)
for _ in range(3):
    target.write(t.rendered(t.FULL_709))
target.close()
"""
AGAIN = """
import test_media_vcam as t
target = t.sink(camera="/dev/video7")
target.open(t.CONTEXT)
for _ in range(4):
    try:
        target.write(t.rendered(t.FULL_709))
    except t.DriverError as error:
        print(error)
        target.close()
        target.open(t.CONTEXT)
target.close()
print(target.stats.frames, len(target.stats.errors))
"""
BESIDE = """
import threading, time
import test_media_vcam as t
target = t.sink(camera="/dev/video7")
target.open(t.CONTEXT)
thread = threading.Thread(target=target.write, args=(t.rendered(t.FULL_709),))
thread.start()
for _ in range(1000):
    print("beside" if thread.is_alive() else "after")
    thread.join(timeout=0.01)
    if not thread.is_alive():
        break
target.close()
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    return build_loopback(tmp_path_factory.mktemp("shim"))


def run_under_shim(
    shim: Path, output: Path, program: str = PROGRAM, *, fault: str = "", log: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = loopback_environment(shim, output, fault=fault, log=log)
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment | {"PYTHONPATH": str(Path(__file__).parent)},
        check=False,
        capture_output=True,
        text=True,
    )


@needs_package
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("einval@1+1", "Invalid argument"), ("short@1+1", f"it took {64 * 36} of {64 * 72} bytes")],
)
def test_a_picture_that_the_driver_refuses_is_told_and_the_camera_goes_on(
    shim: Path, tmp_path: Path, fault: str, reason: str
) -> None:
    output, log = tmp_path / "pictures.raw", tmp_path / "log"
    done = run_under_shim(shim, output, AGAIN, fault=fault, log=log)

    assert done.returncode == 0, done.stderr
    told, counts = done.stdout.splitlines()
    assert told.startswith(f"the virtual camera does not take the picture ({reason}): ")
    assert counts == "3 1"
    assert "error writing frame" not in done.stderr  # pyvirtualcam's own words, on top of ours
    whole = 64 * 72
    assert [one.taken for one in read_log(log)] == [
        whole,
        -1 if "einval" in fault else whole // 2,
        whole,
        whole,
    ]


@needs_package
def test_a_driver_that_hangs_stops_no_other_thread(shim: Path, tmp_path: Path) -> None:
    done = run_under_shim(shim, tmp_path / "pictures.raw", BESIDE, fault="hang@0+1")
    assert done.returncode == 0, done.stderr
    # Held by the lock, the other thread would say so once, and then nothing until the picture is written.
    assert done.stdout.count("beside") > 5


@pytest.mark.parametrize("descriptors", [(), (3, 4)])
def test_a_device_that_is_not_found_among_the_descriptors_is_sent_to(
    monkeypatch: pytest.MonkeyPatch, descriptors: tuple[int, ...]
) -> None:
    camera = FakeCamera(64, 48, 30.0, device="/dev/video9", fmt="I420")
    monkeypatch.setattr(vcam_writer, "open_descriptors", lambda: frozenset(descriptors))
    monkeypatch.setattr(vcam_writer, "_target", lambda _: "/dev/video9")
    picture = np.zeros((72, 64), np.uint8)
    vcam_writer.choose_write(camera, True, frozenset())(picture)
    assert len(camera.sent) == 1


def test_a_device_of_another_format_is_sent_to(monkeypatch: pytest.MonkeyPatch) -> None:
    camera = FakeCamera(64, 48, 30.0, device="/dev/video9", fmt="I420")
    monkeypatch.setattr(vcam_writer, "open_descriptors", lambda: frozenset({3}))
    monkeypatch.setattr(vcam_writer, "_target", lambda _: "/dev/video9")
    vcam_writer.choose_write(camera, False, frozenset())(np.zeros((72, 64), np.uint8))
    assert len(camera.sent) == 1


@needs_package
def test_the_real_backend_writes_our_pictures_byte_for_byte(shim: Path, tmp_path: Path) -> None:
    output = tmp_path / "pictures.raw"
    done = run_under_shim(shim, output)

    assert done.returncode == 0, done.stderr
    assert "64x48 YU12" in done.stderr
    pictures = np.fromfile(output, np.uint8).reshape(3, 72, 64)
    y, cb, cr = patch_samples(SKIN, WEBCAM)
    assert np.abs(pictures[:, :48].astype(int) - y).max() <= 2
    assert np.abs(pictures[:, 48:60].astype(int) - cb).max() <= 2
    assert np.abs(pictures[:, 60:].astype(int) - cr).max() <= 2


@needs_package
def test_a_device_that_refuses_the_format_is_one_clear_error(shim: Path, tmp_path: Path) -> None:
    done = run_under_shim(shim, tmp_path / "pictures.raw", fault="format")
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith("livefusion.core.errors.DriverError: the virtual camera cannot be used")


def test_a_machine_without_a_virtual_camera_gets_one_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("'v4l2loopback' backend: No v4l2 loopback device found at /dev/video[0-99].")

    module = SimpleNamespace(Camera=refuse, PixelFormat=SimpleNamespace(I420="I420"))
    monkeypatch.setitem(sys.modules, "pyvirtualcam", module)
    with pytest.raises(DriverError) as caught:
        sink().open(CONTEXT)
    assert str(caught.value) == f"there is no virtual camera: {REMEDY}"
    assert ": " not in REMEDY


@pytest.mark.skipif(sys.platform != "linux", reason="v4l2loopback is Linux's")
def test_the_sink_and_doctor_advise_the_same() -> None:
    assert INSTALL_DRIVER in REMEDY
    assert LOAD_FOR_BROWSERS in REMEDY
