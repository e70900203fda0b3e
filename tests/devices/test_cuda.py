"""The CUDA device on a stand-in for CuPy: all of its code, with kernels on the host twin."""

import gc
import logging
from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceError, DeviceLostError, LiveFusionError, OutOfMemoryError
from livefusion.core.geometry import Size
from livefusion.devices import cuda
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing.host_cupy import HostCupy
from livefusion.testing.host_twin import compiler

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_: tmp_path)


def picture(device: Device, stream: Any, seed: int = 0) -> dict[str, Any]:
    """``luma``, ``chroma`` and ``patch`` of noise on a device."""
    rng = np.random.default_rng(seed)
    host = {
        "luma": rng.integers(0, 256, (32, 48), np.uint8),
        "chroma": rng.integers(0, 256, (16, 24, 2), np.uint8),
        "patch": rng.integers(0, 256, (20, 24, 4), np.uint8),
    }
    arrays = {name: device.empty(array.shape, array.dtype) for name, array in host.items()}
    for name, array in host.items():
        device.copy(arrays[name], array, stream)
    return arrays


def blended(device: Device, stream: Any, times: int) -> list[Any]:
    """A picture after so many blends, read back."""
    arrays = picture(device, stream)
    for index in range(times):
        device.launch(BLEND_YUVA, arrays | {"x": 2 * (index % 12), "y": 4}, stream)
    stream.record().synchronize()
    return [device.to_host(arrays[name]) for name in ("luma", "chroma")]


@pytest.mark.parametrize("seed", [None, *range(6)])
@pytest.mark.parametrize("captures", [False, True])
def test_kernels_do_on_it_what_the_cpu_does(seed: int | None, captures: bool) -> None:
    device, host = CudaDevice(HostCupy(seed), captures=captures), CpuDevice()
    stream = device.stream("render")
    for _ in range(8):  # the first ones launch, later ones replay a graph
        for got, wanted in zip(blended(device, stream, 6), blended(host, host.stream("s"), 6), strict=True):
            assert np.array_equal(got, wanted)


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


def test_more_than_the_limit_is_refused_before_cuda_is_asked() -> None:
    device = CudaDevice(HostCupy(memory=1_000_000))
    held = device.empty((700_000,), np.uint8)
    assert held.size
    with pytest.raises(OutOfMemoryError, match="exceed"):
        device.empty((200_000,), np.uint8)


@pytest.mark.parametrize(
    ("gpus", "index", "capability", "says"),
    [(0, 0, 90, "there is none"), (2, 2, 90, "there are 2"), (1, 0, 61, "too old")],
)
def test_a_gpu_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, gpus: int, index: int, capability: int, says: str
) -> None:
    monkeypatch.setattr(cuda, "load_cupy", lambda: HostCupy(gpus=gpus, capability=capability))
    with pytest.raises(DeviceError, match=says) as caught:
        cuda.open_cuda(index)
    assert caught.value.remedy


def test_graphs_of_one_process_share_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = HostCupy(gpus=2)
    monkeypatch.setattr(cuda, "load_cupy", lambda: cupy)
    monkeypatch.setattr(cuda, "_opened", {})
    first, again, second = cuda.open_cuda(0), cuda.open_cuda(0), cuda.open_cuda(1)
    assert first is again
    assert [first.name, second.name] == ["cuda:0", "cuda:1"]
    cuda.forget_cuda(0)
    assert cuda.open_cuda(0) is not first


def test_compiled_kernels_are_kept(tmp_path: Any) -> None:
    """For as long as the file is whole."""
    cupy = HostCupy()
    compiled: list[Any] = []
    cupy.cuda.nvrtc.compileProgram = lambda program, options: compiled.append(options)
    CudaDevice(cupy)
    CudaDevice(cupy)
    assert compiled == [("--std=c++17", "-arch=sm_90")]
    (kept,) = (tmp_path / "kernels").iterdir()
    for broken in (b"", b"<html>"):
        kept.write_bytes(broken)
        CudaDevice(cupy)
        assert kept.read_bytes() == b"\x7fELF, the twin"
    cupy.fail("moduleLoadData", 200)
    CudaDevice(cupy)
    assert len(compiled) == 4


def test_prebuilt_kernels_are_loaded_if_they_are_of_this_source_and_for_this_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from livefusion.devices.cuda import module
    from livefusion.devices.kernels import source_digest

    monkeypatch.setattr(module, "PREBUILT", tmp_path / "kernels.fatbin")
    module.PREBUILT.write_bytes(b"prebuilt")
    for digest, refused, wanted in (
        ("of another source", False, [b"\x7fELF, the twin"]),
        (source_digest(), False, [b"prebuilt"]),
        (source_digest(), True, [b"prebuilt", b"\x7fELF, the twin"]),
    ):
        module.PREBUILT.with_suffix(".digest").write_text(digest)
        cupy, images = HostCupy(), []
        load = cupy.cuda.driver.moduleLoadData

        def noted(image: bytes, load: Any = load, images: Any = images) -> Any:
            images.append(image)
            return load(image)

        cupy.cuda.driver.moduleLoadData = noted
        if refused:
            cupy.fail("moduleLoadData", 209)
        CudaDevice(cupy)
        assert images == wanted


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
