"""The CPU device runs everything at once."""

from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceError
from livefusion.devices.cpu import ALIGNMENT, CpuDevice
from livefusion.ops.registry import ADD_PLANE, BLEND_YUVA, OperatorSpec

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shape", [(7,), (3, 5), (0, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_memory_is_aligned_and_writable(shape: tuple[int, ...], dtype: Any) -> None:
    for array in (CpuDevice().empty(shape, dtype), CpuDevice().pinned(shape, dtype)):
        array[...] = 1
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.size == 0 or array.ctypes.data % ALIGNMENT == 0


def test_copy_and_run_are_done_on_return() -> None:
    device = CpuDevice()
    stream = device.stream("s")
    source, target = np.arange(4), np.zeros(4, int)
    device.copy(target, source, stream)
    device.run(lambda: np.multiply(target, 2, out=target), stream, reads=(), writes=(target,), name="double")
    stream.wait(stream.record())
    assert device.to_host(target).tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("source", [np.zeros(3), np.zeros(4, np.float32)])
def test_copy_refuses_to_convert(source: np.ndarray[Any, Any]) -> None:
    device = CpuDevice()
    with pytest.raises(ValueError, match="cannot copy"):
        device.copy(np.zeros(4), source, device.stream("s"))


def test_prepare_names_an_operator_that_has_no_body() -> None:
    CpuDevice().prepare(BLEND_YUVA, ADD_PLANE)
    with pytest.raises(DeviceError, match="no body for cpu"):
        CpuDevice().prepare(OperatorSpec("paint", "nowhere", (), ()))
