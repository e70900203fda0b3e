"""What the cut detector gets to see of a shrunken picture, wherever that lies."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from apart import ApartDevice

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.faces.cut import EVERY
from livefusion.faces.detect import LiveDetector
from livefusion.ops.fit import letterbox_size
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
