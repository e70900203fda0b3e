"""The built-in networks on live NV12 frames, on a device that forgives nothing."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from apart import ApartDevice

from livefusion.core.color import ColorInfo
from livefusion.core.face import AnalysedFrame, FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Affine, Size
from livefusion.core.settings import FaceSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.faces.build import build_analyse_stage
from livefusion.faces.detect import unturn
from livefusion.faces.kalman import LIBRARY
from livefusion.faces.photo import PhotoFaces
from livefusion.ops.registry import RGB_TO_NV12
from livefusion.runtime.stage import StageContext
from livefusion.testing.host_twin import compiler
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

PHOTO = Path(__file__).resolve().parents[2] / "models" / "performer" / "first.webp"
SIZE = Size(512, 512)
FRAMES = 6
READERS = {"letterbox_nv12", "nv12_warp_norm"}
Picture = npt.NDArray[np.uint8]


@pytest.fixture(scope="module")
def photo() -> Picture:
    picture = cv2.imread(str(PHOTO))
    if picture is None:
        pytest.skip("the performer's photo is not here")
    return np.ascontiguousarray(picture[:, :, ::-1])


def path(index: int) -> Affine:
    """Where the photo is in frame ``index``."""
    return Affine.similarity(1.0, np.radians(2.0 * index), (256, 256), (256 + 5 * index, 256 - 3 * index))


def analyse(device: Device, pictures: list[Picture]) -> list[tuple[tuple[FaceTrack, ...], bool]]:
    # Boxes rest where they are while the motion model is imported beside: the first run would differ.
    LIBRARY.filter_type()
    size = Size(pictures[0].shape[1], pictures[0].shape[0])
    settings = FaceSettings(smoothing=0.0)
    stage = build_analyse_stage(device, settings)
    stage._guard_ns = 20_000_000_000  # however busy the machine, the answer is waited for
    stage.open(StageContext("analyse", SystemClock()))
    source, render, pool = device.stream("source"), device.stream("render"), FramePool(device, size, limit=2)
    analysed = []
    for index, picture in enumerate(pictures):
        buffer = pool.acquire(source)
        arguments: dict[str, Any] = {"rgb": picture, "luma": buffer.luma, "chroma": buffer.chroma}
        device.launch(RGB_TO_NV12, {**arguments, "color": ColorInfo()}, source)
        ready = buffer.after(source.record())
        stamp = Timestamp(index, Fraction(1, 30))
        frame = Frame(index, "test", stamp, index * 33_000_000, size, ColorInfo(), ready)
        result = stage.process(frame)
        assert isinstance(result, AnalysedFrame)
        # The next stage writes in place: whoever still reads the frame has been waited for.
        render.wait(result.frame.buffer.ready)
        white = np.full_like(picture, 255)
        arguments["rgb"] = white
        device.launch(RGB_TO_NV12, {**arguments, "color": ColorInfo()}, render)
        result.frame.buffer.after(render.record())
        analysed.append((result.tracks, result.trusted))
        del buffer, ready, frame, result
    stage.close()
    device.synchronize()
    return analysed


def warped(photo: Picture, count: int) -> list[Picture]:
    return [cv2.warpAffine(photo, path(index).matrix, (512, 512)).astype(np.uint8) for index in range(count)]


def test_follows_a_moving_face_to_the_pixel(photo: Picture) -> None:
    (face,) = PhotoFaces.from_registry().find(photo)
    assert face.landmarks is not None
    eyes = float(np.linalg.norm(face.landmarks[33, :2] - face.landmarks[263, :2]))
    for index, (tracks, trusted) in enumerate(analyse(CpuDevice(), warped(photo, FRAMES))):
        (track,) = tracks
        assert trusted
        assert (track.id, track.state) == (1, TrackState.SEEN)
        assert track.landmarks is not None
        truth = path(index)(face.landmarks[:, :2])
        assert np.linalg.norm(track.landmarks[:, :2] - truth, axis=1).mean() < 0.015 * eyes


@pytest.mark.parametrize("kind", [SimDevice, ApartDevice])
@pytest.mark.parametrize("seed", range(2))
def test_same_landmarks_whatever_the_order_of_the_device(
    photo: Picture, kind: type[SimDevice], seed: int
) -> None:
    pictures = warped(photo, 4)
    device = kind(seed, host_orders=False)
    late = analyse(device, pictures)
    device.assert_no_races()
    for (expected, vouched), (found, trusted) in zip(analyse(CpuDevice(), pictures), late, strict=True):
        (one,), (other,) = expected, found
        assert one.landmarks is not None
        assert other.landmarks is not None
        assert other.landmarks == pytest.approx(one.landmarks, abs=1e-3)
        assert (one.state, vouched) == (other.state, trusted)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin")
def test_the_kernels_of_the_gpu_let_the_networks_see_the_same(photo: Picture) -> None:
    pictures = warped(photo, 2)
    runs = []
    for seed in range(2):
        device = SimDevice(seed, kind="cuda", host_orders=False)
        runs.append([track.landmarks for (track,), _ in analyse(device, pictures)])
        device.assert_no_races()
    for wanted, found, again in zip(analyse(CpuDevice(), pictures), *runs, strict=True):
        assert found is not None
        assert np.array_equal(found, again)
        assert found == pytest.approx(wanted[0][0].landmarks, abs=0.5)  # pixels: levels differ by one


@pytest.mark.parametrize(("kind", "step"), [(SimDevice, 7), (ApartDevice, 9)])
def test_forgotten_waits_are_named(photo: Picture, kind: type[SimDevice], step: int) -> None:
    pictures = warped(photo, 2)
    sound = kind(1, host_orders=False)
    analyse(sound, pictures)
    named: set[str] = set()
    for wait in range(0, sound.mutation.count, step):  # each in turn takes a minute
        device = kind(1, drop_wait=wait, host_orders=False)
        analyse(device, pictures)
        # Their number differs a little, because slots of memory come back when threads let go of them.
        assert device.races or not device.mutation.left_out, device.mutation.left_out
        named |= {reader for race in device.races for reader in READERS if reader in str(race)}
    assert named == READERS


@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("size", [Size(512, 512), Size(256, 480)])
def test_a_face_on_its_side_is_born_in_its_first_frame(photo: Picture, turns: int, size: Size) -> None:
    canvas = np.full((size.width, size.height, 3), 90, np.uint8)
    shrunk = cv2.resize(photo, (size.width, size.width), interpolation=cv2.INTER_AREA)
    canvas[:, : size.width] = shrunk
    (upright,) = PhotoFaces.from_registry().find(canvas)
    lying = np.ascontiguousarray(np.rot90(canvas, turns))
    ((track,), trusted), *_ = analyse(CpuDevice(), [lying])
    assert trusted
    assert track.state is TrackState.SEEN
    assert upright.landmarks is not None
    assert track.landmarks is not None
    back = unturn(Size(size.height, size.width), turns)(track.landmarks[:, :2])
    eyes = np.linalg.norm(upright.landmarks[33, :2] - upright.landmarks[263, :2])
    assert np.linalg.norm(back - upright.landmarks[:, :2], axis=1).mean() < 0.03 * eyes
