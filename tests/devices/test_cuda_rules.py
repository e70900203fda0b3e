"""What CUDA refuses and a host would allow: threads, several GPUs, captures, memory in limbo."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.library import is_past
from livefusion.devices.device import Array, Device, Stream
from livefusion.devices.kernel import Kernel
from livefusion.devices.kernels import kernel_names
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing import host_kernels
from livefusion.testing.host_cupy import CUDADriverError, CUDARuntimeError, HostCupy
from livefusion.testing.host_twin import compiler

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_: tmp_path)


def picture(device: Device, stream: Stream) -> dict[str, Array]:
    """``luma``, ``chroma`` and ``patch`` of noise on a device."""
    rng = np.random.default_rng(0)
    shapes = {"luma": (32, 48), "chroma": (16, 24, 2), "patch": (20, 24, 4)}
    arrays = {name: device.empty(shape, np.uint8) for name, shape in shapes.items()}
    for array in arrays.values():
        device.copy(array, rng.integers(0, 256, array.shape, np.uint8), stream)
    return arrays


def blend(device: Device, arrays: dict[str, Any], stream: Stream, times: int = 6) -> None:
    """Enough launches for a graph."""
    for index in range(times):
        device.launch(BLEND_YUVA, arrays | {"x": 2 * (index % 12), "y": 4}, stream)
    stream.record().synchronize()


def in_thread(work: Callable[[], object]) -> None:
    """Run work in a thread that has not met CUDA, and raise what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # border: told to the test
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def test_a_stream_may_go_to_a_thread_that_has_met_no_gpu() -> None:
    device = CudaDevice(HostCupy(gpus=2), 1)
    stream, other = device.stream("render"), device.stream("decode")
    arrays = picture(device, stream)
    event = other.record()
    for index in range(3):
        device.launch(BLEND_YUVA, arrays | {"x": 2 * index, "y": 0}, stream)
    in_thread(lambda: stream.wait(event))
    device.launch(BLEND_YUVA, arrays | {"x": 0, "y": 0}, stream)
    in_thread(stream.record)
    in_thread(stream.synchronize)
    in_thread(event.synchronize)
    in_thread(device.trim)


def test_what_a_library_makes_of_the_threads_gpu_does_not_last() -> None:
    cupy = HostCupy(gpus=2)
    device, host = CudaDevice(cupy, 0), CpuDevice()
    stream, still = device.stream("render"), host.stream("render")
    arrays, wanted = picture(device, stream), picture(host, still)
    for _ in range(6):
        cupy.cuda.runtime.setDevice(1)
        blend(device, arrays, stream)
        blend(host, wanted, still)
    cupy.cuda.runtime.setDevice(1)
    assert np.array_equal(device.to_host(arrays["luma"]), wanted["luma"])


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


def test_kernels_are_loaded_when_the_device_is_opened() -> None:
    """The driver loads one when its handle is asked for, and that may need the whole GPU."""
    cupy = HostCupy()
    device = CudaDevice(cupy)
    stream = device.stream("render")
    assert cupy.calls["moduleGetFunction"] == 2 * len(kernel_names())
    assert set(kernel_names()) >= set(host_kernels._kernels())
    for _ in range(5):
        blend(device, picture(device, stream), stream)
    assert cupy.calls["graphLaunch"] == 2
    assert cupy.calls["moduleGetFunction"] == 2 * len(kernel_names())
    cupy.cuda.runtime.streamBeginCapture(stream.handle, 1)
    with pytest.raises(CUDADriverError):
        cupy.cuda.driver.moduleGetFunction(1, "lf_fill_region")


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


def test_a_gpu_without_memory_pools_works() -> None:
    cupy = HostCupy(pools=False)
    device = CudaDevice(cupy)
    before = cupy.host.in_use
    blend(device, picture(device, device.stream("render")), device.stream("render"))
    gc.collect()
    device.trim()
    assert cupy.host.in_use == before
    assert not {"mallocAsync", "freeAsync", "memPoolTrimTo"} & cupy.calls.keys()


def test_without_the_compilers_library_the_reason_is_told() -> None:
    cupy = HostCupy()

    def missing() -> None:
        raise RuntimeError("CuPy failed to load libnvrtc.so.13: OSError")

    cupy.cuda.nvrtc.getVersion = missing
    with pytest.raises(DeviceError, match=r"libnvrtc\.so\.13"):
        CudaDevice(cupy)


def test_a_gpu_that_is_lost_while_memory_settles_is_told() -> None:
    cupy = HostCupy(1)
    device = CudaDevice(cupy)
    stream = device.stream("render")
    device.copy(device.empty((8,), np.uint8), np.zeros(8, np.uint8), stream)
    query = cupy.cuda.runtime.eventQuery
    cupy.cuda.runtime.eventQuery = lambda event: (cupy.lose(), query(event))[1]
    with pytest.raises(DeviceLostError):
        device.empty((8,), np.uint8)


def test_an_array_of_the_host_is_no_argument_of_a_kernel() -> None:
    """On a GPU it would end the process's context."""
    device = CudaDevice(HostCupy())
    stream = device.stream("render")
    arrays = picture(device, stream) | {"x": 0, "y": 0, "patch": np.zeros((20, 24, 4), np.uint8)}
    device.launch(BLEND_YUVA, arrays, stream)
    with pytest.raises(AssertionError, match="not the GPU's"):
        stream.synchronize()


def test_arguments_beyond_cudas_limit_are_refused() -> None:
    with pytest.raises(ValueError, match="4097"):
        Kernel("lf_large", "4081s")
    assert Kernel("lf_large", "4080s").layout.size == 4096


@pytest.mark.parametrize(
    ("call", "arguments", "status"),
    [
        ("memcpy2DAsync", (0, 4, 0, 8, 8, 2, 4), 12),
        ("memcpyAsync", (0, 0, 0, 4), 0),
        ("streamEndCapture", (), 1),
    ],
)
def test_the_stand_in_refuses_what_cuda_refuses(call: str, arguments: tuple[int, ...], status: int) -> None:
    cupy = HostCupy()
    stream = CudaDevice(cupy).stream("s").handle
    assert cupy.rules.verdict(call, (*arguments, stream)) == status


def test_out_of_memory_stays_out_of_memory() -> None:
    device = CudaDevice(HostCupy(memory=1_000_000))
    with pytest.raises(OutOfMemoryError):
        device.empty((900_000,), np.uint8)


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


@pytest.mark.parametrize(("status", "past"), [(0, True), (600, False), (907, None), (700, None)])
def test_an_event_that_cannot_be_asked_is_not_past(status: int, past: bool | None) -> None:
    cupy = HostCupy()
    cupy.cuda.runtime.eventQuery = lambda event: status
    if past is None:
        with pytest.raises(CUDARuntimeError):
            is_past(cupy.cuda.runtime, 1)
    else:
        assert is_past(cupy.cuda.runtime, 1) is past


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
