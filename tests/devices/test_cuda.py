"""The CUDA device on a stand-in for CuPy: all of its code, with kernels on the host twin."""

from typing import Any

import numpy as np
import pytest
from cuda_support import MARKS, blended

from livefusion.core.errors import DeviceError, DeviceLostError, LiveFusionError, OutOfMemoryError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.cuda.device import CudaDevice
from livefusion.testing.host_cupy import HostCupy

pytestmark = MARKS


@pytest.mark.parametrize("seed", [None, *range(6)])
@pytest.mark.parametrize("captures", [False, True])
def test_kernels_do_on_it_what_the_cpu_does(seed: int | None, captures: bool) -> None:
    device, host = CudaDevice(HostCupy(seed), captures=captures), CpuDevice()
    stream = device.stream("render")
    for _ in range(8):  # the first ones launch, later ones replay a graph
        for got, wanted in zip(blended(device, stream, 6), blended(host, host.stream("s"), 6), strict=True):
            assert np.array_equal(got, wanted)


@pytest.mark.parametrize("seed", range(10))
def test_streams_run_apart_until_an_event_ties_them(seed: int) -> None:
    device = CudaDevice(HostCupy(seed))
    first, second = device.stream("decode"), device.stream("analyse")
    one, two = device.empty((1000,), np.uint8), device.empty((1000,), np.uint8)
    pinned = device.pinned((1000,), np.uint8)
    for value in range(5):
        device.copy(one, np.full(1000, value, np.uint8), first)
        second.wait(first.record())
        device.copy(two, one, second)
        device.copy(pinned, two, second)
        done = second.record()
        first.wait(done)
        done.synchronize()
        assert (pinned == value).all()


def test_without_the_wait_some_order_gives_wrong_bytes() -> None:
    seen = set()
    for seed in range(20):
        device = CudaDevice(HostCupy(seed))
        first, second = device.stream("decode"), device.stream("analyse")
        one, two = device.empty((8,), np.uint8), device.empty((8,), np.uint8)
        device.copy(one, np.full(8, 7, np.uint8), first)
        device.copy(two, one, second)
        second.synchronize()
        seen.add(int(device.to_host(two)[0]))
    assert seen == {7, 0xA5}


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((6, 8), np.s_[:, :]),
        ((6, 8), np.s_[:, 2:6]),
        ((6, 8, 2), np.s_[:, 2:6]),
        ((6, 8, 2), np.s_[1:3]),
        ((6, 8), np.s_[3]),
        ((1, 8), np.s_[:, 2:5]),
        ((6, 1), np.s_[:]),
    ],
)
def test_views_are_copied_both_ways(shape: tuple[int, ...], cut: Any) -> None:
    device = CudaDevice(HostCupy())
    stream = device.stream("s")
    values = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    there, back = device.empty(shape, np.uint8), np.zeros(shape, np.uint8)
    device.copy(there, np.full(shape, 99, np.uint8), stream)
    device.copy(there[cut], values[cut], stream)
    wanted = np.full(shape, 99, np.uint8)
    wanted[cut] = values[cut]
    assert np.array_equal(device.to_host(there), wanted)
    device.copy(back[cut], there[cut], stream)
    assert np.array_equal(back[cut], values[cut])
    device.copy(back[cut], np.ascontiguousarray(values[cut]), stream)  # one side without gaps
    assert np.array_equal(back[cut], values[cut])


def test_a_copy_must_fit() -> None:
    device = CudaDevice(HostCupy())
    stream = device.stream("s")
    with pytest.raises(ValueError, match="cannot copy"):
        device.copy(device.empty((4,), np.uint8), np.zeros(5, np.uint8), stream)
    with pytest.raises(ValueError, match="one go"):
        device.copy(device.empty((2, 2), np.uint8), np.zeros((4, 4), np.uint8)[::2, ::2], stream)
    fixed = np.zeros(4, np.uint8)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        device.copy(fixed, device.empty((4,), np.uint8), stream)
    with pytest.raises(DeviceError, match="another device"):
        device.copy(device.empty((4,), np.uint8), np.zeros(4, np.uint8), CpuDevice().stream("s"))
    with pytest.raises(DeviceError, match="another device"):
        stream.wait(CpuDevice().stream("s").record())


@pytest.mark.parametrize(
    "source",
    [
        np.broadcast_to(np.arange(8, dtype=np.uint8), (4, 8)),
        np.zeros((4, 8), np.uint8)[::-1],
        np.zeros((4, 8), np.uint8)[:, ::-1],
        np.zeros((8, 4), np.uint8).T,
        np.lib.stride_tricks.sliding_window_view(np.zeros(11, np.uint8), 8),
        np.broadcast_to(np.uint8(7), (4, 8)),
    ],
    ids=["broadcast", "upside down", "mirrored", "Fortran", "overlapping", "constant"],
)
def test_what_is_no_rows_is_refused(source: np.ndarray[Any, Any]) -> None:
    device = CudaDevice(HostCupy())
    with pytest.raises(ValueError, match="cannot be copied"):
        device.copy(device.empty((4, 8), np.uint8), source, device.stream("s"))


def test_foreign_memory_is_adopted_and_work_runs_on_the_stream() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("detector")
    surface = np.arange(48, dtype=np.uint8)
    array = device.adopt(surface.ctypes.data, (4, 3, 2), (12, 2, 1), np.uint8)
    assert np.array_equal(np.asarray(array), surface.reshape(4, 12)[:, :6].reshape(4, 3, 2))
    seen = []
    device.run(
        lambda: seen.append(cupy.cuda.Stream.current[-1]), stream, reads=(), writes=(array,), name="net"
    )
    assert seen == [stream.handle]


@pytest.mark.parametrize(
    ("call", "status", "kind", "says"),
    [
        ("mallocAsync", 2, OutOfMemoryError, "no memory left"),
        ("mallocAsync", 700, DeviceLostError, "was lost"),
        ("hostAlloc", 2, OutOfMemoryError, "no memory left"),
        ("memcpyAsync", 1, DeviceError, "refuses a copy"),
        ("launchKernel", 719, DeviceLostError, "was lost"),
        ("eventRecord", 719, DeviceLostError, "was lost"),
        ("eventSynchronize", 715, DeviceLostError, "was lost"),
    ],
)
def test_errors_are_told_in_words_of_ours(
    call: str, status: int, kind: type[LiveFusionError], says: str
) -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    cupy.fail(call, status)
    with pytest.raises(kind, match=says) as caught:
        blended(device, stream, device.pinned((2,), np.uint8).size)
    assert type(caught.value) is kind
    assert caught.value.exit_status == 3
    assert caught.value.remedy


def test_a_lost_gpu_raises_everywhere() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream, array = device.stream("render"), device.empty((4,), np.uint8)
    event = stream.record()
    cupy.lose()
    for call in (
        event.synchronize,
        stream.record,
        stream.synchronize,
        device.synchronize,
        device.trim,
        lambda: device.empty((4,), np.uint8),
        lambda: device.copy(array, array, stream),
        lambda: device.to_host(array),
    ):
        with pytest.raises(DeviceLostError):
            call()


def test_events_and_streams_are_used_again() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    for _ in range(50):
        stream = device.stream("s")
        stream.record().synchronize()
        del stream
    assert cupy.calls["streamCreateWithFlags"] == 2
    assert cupy.calls["eventCreateWithFlags"] <= 2


def test_host_memory_is_handed_out_as_it_is() -> None:
    device = CudaDevice(HostCupy())
    pinned = device.pinned((4,), np.uint8)
    assert device.to_host(pinned) is pinned


@pytest.mark.parametrize("reads_pageable", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cut", [np.s_[:], np.s_[:, 2:6]])
def test_pageable_memory_is_free_once_it_was_copied(seed: int, reads_pageable: bool, cut: Any) -> None:
    """A GPU may read the host's memory itself, and then takes its time."""
    device = CudaDevice(HostCupy(seed, reads_pageable=reads_pageable))
    stream = device.stream("upload")
    there, source = device.empty((4, 8), np.uint8), np.full((4, 8), 7, np.uint8)
    device.copy(there[cut], source[cut], stream)
    source[:] = 9
    back = np.zeros((4, 8), np.uint8)
    device.copy(back[cut], there[cut], stream)
    assert (back[cut] == 7).all()


def test_pinned_memory_is_not_waited_for() -> None:
    cupy = HostCupy(1, reads_pageable=True)
    device = CudaDevice(cupy)
    stream, pinned = device.stream("upload"), device.pinned((8,), np.uint8)
    there = device.empty((8,), np.uint8)
    waits = cupy.calls["streamSynchronize"]
    device.copy(there, pinned, stream)
    assert cupy.calls["streamSynchronize"] == waits
