"""What the detector makes of a picture, and what the cut detector gets to see of it, wherever that lies."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from apart import ApartDevice

from livefusion.core.color import ColorInfo
from livefusion.core.errors import DeviceError
from livefusion.core.face import FaceObservation
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import Pace
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.faces.cut import EVERY
from livefusion.faces.detect import LiveDetector, _is_shell, _require_sense
from livefusion.media.sources.performer import PerformerSource
from livefusion.ops.fit import letterbox_size
from livefusion.runtime.stage import StageContext
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.traffic import TrafficDevice

pytestmark = pytest.mark.unit

SIZES = pytest.mark.parametrize("size", [Size(640, 360), Size(360, 640), Size(322, 256)], ids=str)


def frame(device: Device, size: Size) -> Frame:
    stream, pool = device.stream("decode"), FramePool(device, size, limit=1)
    planes, rng = pool.acquire(stream), np.random.default_rng(0)
    for plane in (planes.luma, planes.chroma):
        device.copy(plane, rng.integers(0, 256, plane.shape, np.uint8), stream)
    return Frame(0, "noise", Timestamp(0, Fraction(1)), 0, size, ColorInfo(), planes.after(stream.record()))


def seen(device: Device, size: Size) -> tuple[Any, Any]:
    """The thumbnail, and all of the green channel that it is taken from."""
    detector = LiveDetector(device, Networks(CpuDevice())["yunet"])
    job = detector.shrink(frame(device, size), detector.slots[0], (), 0.6)
    thumbnail = np.array(detector.thumbnail(job, size))
    return thumbnail, device.to_host(job.slot.networks[job.size].image)[0, 1]


@SIZES
@pytest.mark.parametrize("kind", [SimDevice, ApartDevice])
def test_the_thumbnail_is_every_third_row_without_bars(kind: type[SimDevice], size: Size) -> None:
    device = kind(0, host_orders=False)
    thumbnail, green = seen(device, size)
    inner = letterbox_size(size, Size(green.shape[1], green.shape[0]))
    assert np.array_equal(thumbnail, green[: inner.height : EVERY, : inner.width])
    device.assert_no_races()


def test_no_other_row_is_copied_to_the_host() -> None:
    device = TrafficDevice(ApartDevice(0, host_orders=False))
    seen(device, Size(640, 360))
    assert device.moved["detect: copy"] == 60 * 320 * 4


@pytest.mark.parametrize(
    ("turned", "score", "shell"),
    [
        (Box(0, 0, 1000, 800), 0.75, True),
        (Box(0, 0, 1000, 800), 0.85, False),  # as sure as one can be: a face of its own
        (Box(700, 300, 300, 300), 0.6, False),  # beside it
        (Box(300, 200, 300, 400), 0.6, False),  # holds half of it
    ],
)
def test_hair_round_a_face_is_no_second_face(turned: Box, score: float, shell: bool) -> None:
    points = np.zeros((5, 2), np.float32)
    upright = FaceObservation(Box(400, 200, 400, 480), 0.94, points)
    assert _is_shell(FaceObservation(turned, score, points), upright) is shell


def test_a_near_performer_with_much_hair_is_one_face() -> None:
    """Seen lying as well, she used to be two, and the picture was covered for a second."""
    device = CpuDevice()
    uri = "performer:?size=1920x1080&fps=30&face=512&seed=0"
    source = PerformerSource(uri, device, pace=Pace.FAST, duration=0.1)
    source.probe()
    source.open(StageContext("decode", SystemClock()))
    frame = next(item for item in iter(source.read, None) if isinstance(item, Frame))
    detector = LiveDetector(device, Networks(device)["yunet"])
    seen = detector.find(detector.shrink(frame, detector.slots[0], (), 0.6))
    source.close()
    assert len(seen) == 1


@pytest.mark.parametrize("given", [0.0, float("nan"), float("inf")])
def test_a_network_that_gives_no_sense_sees_no_empty_room(given: float) -> None:
    outputs = {"cls_8": np.full((1, 960, 1), given, np.float32), "kps_8": np.zeros((1, 960, 10), np.float32)}
    with pytest.raises(DeviceError, match="the network yunet gave"):
        _require_sense(outputs, "yunet")
    _require_sense(outputs | {"cls_8": np.full((1, 960, 1), 0.01, np.float16)}, "yunet")
