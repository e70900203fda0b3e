"""Pictures on the host: once and in time, from whichever device holds them."""

import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from livefusion.core.color import ColorInfo
from livefusion.core.errors import OutOfMemoryError
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.media.host import HostPictures
from livefusion.testing.faults import FaultBoard, FragileDevice, Mishap
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

SIZE = Size(32, 16)
PICTURES = 5


def frame(pool: FramePool, device: Device, index: int) -> Frame:
    """A picture whose luma is ``index`` and whose chroma is 100 + index, written on a stream of its own."""
    stream = device.stream("writer")
    buffer = pool.acquire(stream)
    luma, chroma = buffer.luma, buffer.chroma
    device.run(lambda: luma.fill(index), stream, reads=(), writes=(luma,), name="luma")
    device.run(lambda: chroma.fill(100 + index), stream, reads=(), writes=(chroma,), name="chroma")
    ts = Timestamp(index, Fraction(1, 30))
    return Frame(index, "test", ts, 0, pool.size, ColorInfo(), buffer.after(stream.record()))


def look(device: Device) -> list[tuple[int, int]]:
    """The values of each picture; one slot serves them all."""
    pool, host = FramePool(device, SIZE, limit=1), HostPictures(device)
    seen = []
    for index in range(PICTURES):
        luma, chroma = host.planes(frame(pool, device, index))
        assert luma.shape == (16, 32)
        assert chroma.shape == (8, 16, 2)
        assert np.ptp(luma) == np.ptp(chroma) == 0
        seen.append((int(luma[0, 0]), int(chroma[0, 0, 0])))
    return seen


@pytest.mark.parametrize(
    "device",
    [CpuDevice(), *(SimDevice(seed) for seed in range(5)), *(SimDevice(s, kind="cuda") for s in range(20))],
    ids=lambda device: f"{device.name}-{device.shares_host_memory}",
)
def test_each_picture_is_read_when_it_is_ready(device: Device) -> None:
    assert look(device) == [(index, 100 + index) for index in range(PICTURES)]
    if isinstance(device, SimDevice):
        device.assert_no_races()


def test_each_wait_of_the_copy_is_needed() -> None:
    counted = SimDevice(0, kind="cuda", host_orders=False)
    look(counted)
    counted.assert_no_races()
    assert counted.mutation.count >= 2 * PICTURES - 1
    for index in range(counted.mutation.count):
        device = SimDevice(0, kind="cuda", host_orders=False, drop_wait=index)
        pool, host = FramePool(device, SIZE, limit=1), HostPictures(device)
        whole = True
        for number in range(PICTURES):
            luma, chroma = host.planes(frame(pool, device, number))
            whole = whole and bool((luma == number).all() and (chroma == 100 + number).all())
        device.synchronize()
        assert device.races or not whole, f"nobody noticed that {device.mutation.left_out} was missing"


def test_a_picture_of_another_device_and_of_another_size_is_fetched_too() -> None:
    first, second = SimDevice(1, kind="cuda"), CpuDevice()
    host = HostPictures(first)
    for device, size in ((first, SIZE), (first, Size(8, 8)), (second, SIZE), (first, SIZE)):
        luma, chroma = host.planes(frame(FramePool(device, size), device, 7))
        assert luma.shape == (size.height, size.width)
        assert (luma == 7).all()
        assert (chroma == 107).all()


def test_a_device_that_refuses_once_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, board = FragileDevice(shares_host_memory=False), FaultBoard()
    other = FragileDevice("other", board, shares_host_memory=False)
    host = HostPictures(gpu)
    picture = frame(FramePool(other, SIZE, limit=1), other, 7)
    board.arm(f"{threading.current_thread().name}:stream", Mishap.STARVED)
    with pytest.raises(OutOfMemoryError):
        host.planes(picture)
    asked = Counter[str]()
    monkeypatch.setattr(other, "meet", lambda call: asked.update([call]))
    assert (host.planes(picture)[0] == 7).all()
    assert asked["stream"] == 1, "not on a stream of the former device"
