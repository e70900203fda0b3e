"""Opening a GPU: which one, its kernels, what is said where it cannot be used."""

import gc
from typing import Any

import pytest
from cuda_support import MARKS, blend, picture

from livefusion.core.errors import DeviceError
from livefusion.devices import cuda
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.kernels import kernel_names
from livefusion.testing import host_kernels
from livefusion.testing.host_cupy import CUDADriverError, HostCupy

pytestmark = MARKS


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
