"""Slots come back by themselves, and never while somebody still works on them."""

import threading

import numpy as np
import pytest

from livefusion.core.errors import DeviceLostError, OutOfMemoryError
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import DeviceBuffer, FramePool

pytestmark = pytest.mark.unit

SIZE = Size(64, 32)


class NotedStream:
    """A stream that notes what it is told to wait for."""

    name = "decode"

    def __init__(self) -> None:
        self.waits: list[object] = []

    def record(self) -> object:
        return object()

    def wait(self, event: object) -> None:
        if event is not None:
            self.waits.append(event)

    def synchronize(self) -> None:
        pass


def make_pool(**options: int) -> FramePool:
    return FramePool(CpuDevice(), SIZE, **options)


def acquire(pool: FramePool) -> DeviceBuffer:
    return pool.acquire(CpuDevice().stream("decode"))


@pytest.mark.parametrize("row_alignment", [1, 48, 256])
def test_planes_are_views_of_one_picture(row_alignment: int) -> None:
    buffer = acquire(make_pool(row_alignment=row_alignment))
    buffer.nv12[:] = 0
    buffer.luma[:] = 1
    buffer.chroma[:] = 2
    assert buffer.luma.shape == (32, 64)
    assert buffer.chroma.shape == (16, 32, 2)
    assert np.all(buffer.nv12[:32] == 1)
    assert np.all(buffer.nv12[32:] == 2)
    assert np.from_dlpack(buffer.luma).shape == (32, 64)


def test_a_picture_knows_its_device() -> None:
    device = CpuDevice()
    buffer = FramePool(device, SIZE).acquire(device.stream("decode"))
    assert (buffer.home, buffer.device) == (device, "cpu")
    assert buffer.after(None).home is device


def test_a_slot_whose_events_raise_is_not_lost() -> None:
    class LostStream(NotedStream):
        def wait(self, event: object) -> None:
            if event is not None:
                raise DeviceLostError("the device is lost")

    pool = make_pool(limit=1)
    acquire(pool).after(object())
    with pytest.raises(DeviceLostError):
        pool.acquire(LostStream())
    assert (pool.allocated, pool.in_use) == (1, 0)


@pytest.mark.parametrize("size", [Size(63, 32), Size(64, 31), Size(0, 32)])
def test_refuses_sizes_that_chroma_cannot_carry(size: Size) -> None:
    with pytest.raises(ValueError, match="even sides"):
        FramePool(CpuDevice(), size)


def test_slot_returns_with_the_last_reference() -> None:
    pool = make_pool()
    first = acquire(pool)
    second = first.after(CpuDevice().stream("render").record())
    del first
    assert pool.in_use == 1
    del second
    assert (pool.in_use, pool.allocated) == (0, 1)


def test_slot_returns_after_an_exception() -> None:
    pool = make_pool()

    def fail() -> None:
        buffer = acquire(pool)
        raise ValueError(repr(buffer))

    with pytest.raises(ValueError, match="64x32 slot 0 on cpu"):
        fail()
    assert pool.in_use == 0


def test_slots_are_used_again_without_growing() -> None:
    pool = make_pool(limit=2)
    for _ in range(100):
        acquire(pool)
    assert pool.allocated == 1


def test_exhausted_pool_names_the_holder() -> None:
    pool = make_pool(limit=2)
    held = [acquire(pool) for _ in range(2)]
    with pytest.raises(OutOfMemoryError, match=r"all 2 pictures of 64x32 in use .2 taken by decode"):
        acquire(pool)
    held.pop()
    assert acquire(pool).slot == 1


def test_next_writer_waits_for_readers_and_last_write() -> None:
    pool = make_pool()
    stream = NotedStream()
    buffer = pool.acquire(stream)
    assert stream.waits == []
    written, earlier, read, other = object(), object(), object(), object()
    ready = buffer.after(written)
    reader = NotedStream()
    ready.read_until(earlier, reader)  # type: ignore[arg-type]
    ready.read_until(other, NotedStream())  # type: ignore[arg-type]
    ready.read_until(read, reader)  # type: ignore[arg-type]
    assert ready.ready is written
    del buffer, ready
    pool.acquire(stream)
    assert stream.waits == [read, other, written], "the last read of each stream"
    pool.acquire(stream)
    assert stream.waits == [read, other, written]


def test_threads_never_share_a_slot() -> None:
    pool = make_pool(limit=8)  # each thread still holds its last picture while it asks for the next
    clashes: list[int] = []

    def work(mark: int) -> None:
        for _ in range(300):
            buffer = acquire(pool)
            buffer.luma[:] = mark
            if not np.all(buffer.luma == mark):
                clashes.append(buffer.slot)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
    assert pool.in_use == 0


@pytest.mark.parametrize(("limit", "ready"), [(3, 3), (16, 8)])
def test_a_gpu_has_its_slots_before_the_first_picture(limit: int, ready: int) -> None:
    class Gpu(CpuDevice):
        shares_host_memory = False

    pool = FramePool(Gpu(), SIZE, limit=limit)
    assert (pool.allocated, pool.in_use) == (ready, 0)
    held = [acquire(pool) for _ in range(limit)]
    assert (pool.allocated, pool.in_use) == (limit, limit)
    assert sorted(buffer.slot for buffer in held) == list(range(limit))
