"""What CUDA refuses and a host would allow: threads, several GPUs, wrong arguments."""

import numpy as np
import pytest
from cuda_support import MARKS, blend, in_thread, picture

from livefusion.devices.cpu import CpuDevice
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.library import is_past
from livefusion.devices.kernel import Kernel
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing.host_cupy import CUDARuntimeError, HostCupy

pytestmark = MARKS


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


@pytest.mark.parametrize(("status", "past"), [(0, True), (600, False), (907, None), (700, None)])
def test_an_event_that_cannot_be_asked_is_not_past(status: int, past: bool | None) -> None:
    cupy = HostCupy()
    cupy.cuda.runtime.eventQuery = lambda event: status
    if past is None:
        with pytest.raises(CUDARuntimeError):
            is_past(cupy.cuda.runtime, 1)
    else:
        assert is_past(cupy.cuda.runtime, 1) is past
