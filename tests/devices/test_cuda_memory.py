"""Memory of a GPU: it rests until every stream has passed, comes back, and has a limit."""

import gc
from typing import Any

import numpy as np
import pytest
from cuda_support import MARKS, blend, picture

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError
from livefusion.core.geometry import Size
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.pool import FramePool
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing.host_cupy import HostCupy

pytestmark = MARKS


@pytest.mark.parametrize("seed", range(10))
def test_memory_that_is_let_go_rests_until_all_streams_have_passed(seed: int) -> None:
    cupy = HostCupy(seed)
    device = CudaDevice(cupy)
    stream, pinned = device.stream("render"), device.pinned((64, 4), np.uint8)
    for row in range(64):
        source = device.empty((4,), np.uint8)  # may be the former one's memory, if that was given back
        device.copy(source, np.full(4, row, np.uint8), stream)
        device.copy(pinned[row], source, stream)
        del source
    stream.synchronize()
    assert (pinned == np.arange(64, dtype=np.uint8)[:, None]).all()


def test_all_memory_comes_back_and_the_peak_is_told() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    before = cupy.host.in_use
    arrays = [device.empty((1000, 1000), np.uint8) for _ in range(3)]
    assert device.memory_peak() == 3_000_000
    del arrays
    gc.collect()
    device.trim()
    assert cupy.host.in_use == before


def test_a_warm_graph_allocates_nothing() -> None:
    device = CudaDevice(HostCupy())
    pool, stream = FramePool(device, Size(48, 32)), device.stream("decode")
    patch = picture(device, stream)["patch"]
    pinned = device.pinned((48, 48), np.uint8)

    def frame() -> None:
        buffer = pool.acquire(stream)
        device.copy(buffer.luma, np.zeros((32, 48), np.uint8), stream)
        for x in range(6):
            arguments = {"luma": buffer.luma, "chroma": buffer.chroma, "patch": patch, "x": 2 * x, "y": 0}
            device.launch(BLEND_YUVA, arguments, stream)
        device.copy(pinned, buffer.nv12, stream)
        buffer.after(stream.record()).ready.synchronize()  # type: ignore[union-attr]

    for _ in range(20):
        frame()
    warm = device.allocations
    for _ in range(50):
        frame()
    assert device.allocations == warm


def test_more_than_the_limit_is_refused_before_cuda_is_asked() -> None:
    device = CudaDevice(HostCupy(memory=1_000_000))
    held = device.empty((700_000,), np.uint8)
    assert held.size
    with pytest.raises(OutOfMemoryError, match="exceed"):
        device.empty((200_000,), np.uint8)


@pytest.mark.parametrize("seed", range(8))
def test_memory_comes_back_however_late_the_streams_pass(seed: int) -> None:
    cupy = HostCupy(seed)
    device = CudaDevice(cupy)
    stream = device.stream("render")
    before = cupy.host.in_use
    blend(device, picture(device, stream), stream, 3)
    gc.collect()
    device.trim()
    assert cupy.host.in_use == before


@pytest.mark.parametrize("seed", range(8))
def test_what_was_let_go_counts_no_more_when_memory_runs_short(seed: int) -> None:
    cupy = HostCupy(seed, memory=1_000_000)
    device = CudaDevice(cupy)
    stream = device.stream("render")
    for value in range(4):
        array = device.empty((500_000,), np.uint8)
        device.copy(array[:1], np.full(1, value, np.uint8), stream)
        del array


def test_streams_may_be_opened_while_memory_settles() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    record, opened = cupy.cuda.runtime.eventRecord, []

    def record_and_open(*arguments: Any) -> None:
        record(*arguments)
        if len(opened) < 2:
            opened.append(device.stream("new"))

    cupy.cuda.runtime.eventRecord = record_and_open
    for size in (8, 9, 10):
        assert device.empty((size,), np.uint8).size == size
    assert len(opened) == 2


def test_memory_in_limbo_is_not_lost_to_an_error() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    before = cupy.host.in_use
    device.empty((1000,), np.uint8)
    cupy.fail("eventRecord", 1)
    with pytest.raises(DeviceError):
        device.trim()
    device.trim()
    assert cupy.host.in_use == before


def test_a_body_that_fails_half_way_leaves_its_arrays_until_they_are_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from livefusion.ops.cuda import paste
    from livefusion.ops.registry import _load

    right = paste.blend_yuva

    def half(kernels: Any, **arguments: Any) -> None:
        right(kernels, **arguments)
        raise ValueError("a wrong argument")

    monkeypatch.setattr(paste, "blend_yuva", half)
    _load.cache_clear()
    device = CudaDevice(HostCupy())
    stream = device.stream("render")
    with pytest.raises(ValueError, match="wrong argument"):
        device.launch(BLEND_YUVA, picture(device, stream) | {"x": 0, "y": 0}, stream)
    _load.cache_clear()
    gc.collect()
    assert device.empty((8,), np.uint8).size  # what rests in limbo by now is given back
    stream.synchronize()  # the stand-in refuses memory that was given back


def test_a_gpu_that_is_lost_while_memory_settles_is_told() -> None:
    cupy = HostCupy(1)
    device = CudaDevice(cupy)
    stream = device.stream("render")
    device.copy(device.empty((8,), np.uint8), np.zeros(8, np.uint8), stream)
    query = cupy.cuda.runtime.eventQuery
    cupy.cuda.runtime.eventQuery = lambda event: (cupy.lose(), query(event))[1]
    with pytest.raises(DeviceLostError):
        device.empty((8,), np.uint8)


def test_out_of_memory_stays_out_of_memory() -> None:
    device = CudaDevice(HostCupy(memory=1_000_000))
    with pytest.raises(OutOfMemoryError):
        device.empty((900_000,), np.uint8)
