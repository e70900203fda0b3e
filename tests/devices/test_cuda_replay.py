"""Sequences of kernels as captured graphs: when, what spoils a capture, what becomes of old ones."""

import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cuda_support import MARKS, blend, blended, picture

from livefusion.core.errors import DeviceError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.cuda.device import CudaDevice
from livefusion.testing.host_cupy import CUDARuntimeError, HostCupy

pytestmark = MARKS


def test_a_sequence_that_comes_again_is_captured_once_and_replayed() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    for _ in range(10):
        blended(device, stream, 5)
    assert cupy.calls["streamBeginCapture"] == 1
    assert cupy.calls["graphLaunch"] == 7
    assert cupy.calls["launchKernel"] == 3 * 5 + 5


def test_a_short_sequence_is_launched() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    for _ in range(10):
        blended(device, stream, 3)
    assert "streamBeginCapture" not in cupy.calls


def test_what_cannot_be_captured_is_launched_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    cupy = HostCupy()
    device, host = CudaDevice(cupy), CpuDevice()
    stream = device.stream("render")
    for _ in range(3):
        cupy.fail("graphInstantiate", 900)
    with caplog.at_level(logging.WARNING):
        for _ in range(30):
            luma, _ = blended(device, stream, 5)
            assert np.array_equal(luma, blended(host, host.stream("s"), 5)[0])
    assert len(caplog.records) == 1
    assert cupy.calls["streamBeginCapture"] == 3


def test_many_graphs_make_room_for_each_other() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    for times in range(4, 40):
        for _ in range(5):
            blended(device, stream, times)
    assert cupy.calls["graphExecDestroy"] == 36 - 32
    del stream
    device.trim()
    assert cupy.calls["graphExecDestroy"] == 36


DURING_CAPTURE: dict[str, Callable[[CudaDevice], object]] = {
    "wait for the device": lambda device: device.synchronize(),
    "trim": lambda device: device.trim(),
    "let go of memory, and take some": lambda device: (
        device.empty((8,), np.uint8) is device.empty((9,), np.uint8)
    ),
    "take pinned memory": lambda device: device.pinned((8,), np.uint8),
}


@pytest.mark.parametrize("what", DURING_CAPTURE)
def test_a_capture_is_spoilt_by_no_other_thread(what: str) -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    arrays = picture(device, stream)
    spare = [device.empty((8,), np.uint8)]
    begin, threads, raised = cupy.cuda.runtime.streamBeginCapture, [], []

    def meanwhile() -> None:
        try:
            spare.clear()
            DURING_CAPTURE[what](device)
        except DeviceError as error:
            raised.append(error)

    def begin_capture(*arguments: Any) -> None:
        begin(*arguments)
        threads.append(threading.Thread(target=meanwhile))
        threads[-1].start()
        threads[-1].join(
            0.2
        )  # time enough to do harm; where it has to wait, it does so until the capture ends

    cupy.cuda.runtime.streamBeginCapture = begin_capture
    for _ in range(5):
        blend(device, arrays, stream)
    for thread in threads:
        thread.join()
    assert raised == []
    assert len(threads) == 1
    assert cupy.calls["graphLaunch"] == 2


def test_a_library_that_spoils_a_capture_costs_that_one_alone() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    arrays, begin, spoilt = picture(device, stream), cupy.cuda.runtime.streamBeginCapture, []

    def begin_capture(*arguments: Any) -> None:
        begin(*arguments)
        if not spoilt:
            with pytest.raises(CUDARuntimeError) as caught:
                cupy.cuda.runtime.deviceSynchronize()
            spoilt.append(caught.value.status)

    cupy.cuda.runtime.streamBeginCapture = begin_capture
    for _ in range(10):
        blend(device, arrays, stream)
    assert spoilt == [900]
    assert cupy.calls["graphLaunch"] == 3


def test_no_memory_for_a_graph_is_no_reason_to_stop() -> None:
    cupy = HostCupy()
    device, host = CudaDevice(cupy), CpuDevice()
    stream, still = device.stream("render"), host.stream("render")
    arrays, wanted = picture(device, stream), picture(host, still)
    for call in ("hostAlloc", "mallocAsync", "hostAlloc"):
        cupy.fail(call, 2)
    for _ in range(20):
        blend(device, arrays, stream)
        blend(host, wanted, still)
    assert np.array_equal(device.to_host(arrays["luma"]), wanted["luma"])
    assert "graphLaunch" not in cupy.calls


def test_graphs_that_make_room_leave_nothing_behind() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    arrays = picture(device, stream)

    def all_lengths() -> None:
        for times in range(4, 40):
            for _ in range(9):
                blend(device, arrays, stream, times)

    all_lengths()
    events = cupy.calls["eventCreateWithFlags"]
    for _ in range(2):
        all_lengths()
    assert cupy.calls["eventCreateWithFlags"] <= events + 8
    assert cupy.calls["graphDestroy"] == cupy.calls["streamBeginCapture"]


def test_two_threads_may_destroy_what_was_retired() -> None:
    cupy = HostCupy()
    context = CudaDevice(cupy)._context
    context.retired_graphs.append(1)
    destroy, seen = cupy.cuda.runtime.graphExecDestroy, []

    def graph_exec_destroy(graph: int) -> None:
        seen.append(graph)
        context.destroy_retired_graphs()
        destroy(graph)

    cupy.cuda.runtime.graphExecDestroy = graph_exec_destroy
    context.destroy_retired_graphs()
    assert seen == [1]


def test_a_graph_beyond_the_limit_is_not_made() -> None:
    cupy = HostCupy(memory=1_000_000)
    device = CudaDevice(cupy)
    stream = device.stream("render")
    arrays = picture(device, stream)
    filler = device.empty((790_000,), np.uint8)
    for _ in range(20):
        blend(device, arrays, stream)
    assert filler.size
    assert "graphLaunch" not in cupy.calls


def test_a_graph_waits_for_another_time_while_somebody_wants_quiet() -> None:
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    arrays = picture(device, stream)
    for _ in range(3):
        blend(device, arrays, stream)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with device.undisturbed():
            held.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    blend(device, arrays, stream)
    assert "graphLaunch" not in cupy.calls
    done.set()
    holder.join()
    blend(device, arrays, stream)
    assert cupy.calls["graphLaunch"] == 1
