"""NVIDIA GPUs through CuPy, which only this package imports."""

import threading
from typing import Any

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.library import DOCTOR, foreign_errors, load_cupy, translated

_opened: dict[int, CudaDevice] = {}
_opening = threading.Lock()


def open_cuda(index: int = 0) -> CudaDevice:
    """The GPU of this number; all graphs of the process share it.

    ``DeviceError`` with the remedy if CuPy, the driver or the GPU is missing or too old.
    """
    with _opening:
        if index not in _opened:
            _opened[index] = CudaDevice(require_gpu(index), index)
        return _opened[index]


def forget_cuda(index: int) -> None:
    """Have the next ``open_cuda`` start anew, after this one was lost."""
    with _opening:
        _opened.pop(index, None)


def require_gpu(index: int = 0) -> Any:
    """CuPy, after a look that there is a GPU of this number. ``DeviceError`` if there is not."""
    cupy = load_cupy()
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except foreign_errors(cupy) as error:
        raise translated(error, "counting GPUs") from error
    if index >= count:
        there = "there is none" if count == 0 else f"there are {count}, counted from 0"
        raise DeviceError(f"cuda:{index} does not exist: {there}", DOCTOR)
    return cupy
