"""Which GPU this is and which driver runs it, asked of NVIDIA's own libraries alone."""

import ctypes
import sys
from dataclasses import dataclass

_NAME_LENGTH, _RELEASE_LENGTH = 256, 80
_COMPUTE = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_WINDOWS = sys.platform == "win32"


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU: its product name, compute capability such as ``8.9``, and the driver's release."""

    name: str
    compute: str
    driver: str


def gpu(index: int) -> Gpu | None:
    """The GPU of this number; None without a driver, or without so many GPUs."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if _WINDOWS else "libcuda.so.1")
    except OSError:
        return None
    handle = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(handle), index):
        return None
    name = ctypes.create_string_buffer(_NAME_LENGTH)
    driver.cuDeviceGetName(name, _NAME_LENGTH, handle)
    numbers = []
    for attribute in _COMPUTE:
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        numbers.append(str(value.value))
    return Gpu(name.value.decode(errors="replace"), ".".join(numbers), _release())


def _release() -> str:
    """For example ``580.95.05``; empty if NVML does not tell it."""
    try:
        nvml = ctypes.CDLL("nvml.dll" if _WINDOWS else "libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return ""
        text = ctypes.create_string_buffer(_RELEASE_LENGTH)
        status = nvml.nvmlSystemGetDriverVersion(text, _RELEASE_LENGTH)
    except (OSError, AttributeError):
        return ""
    return "" if status else text.value.decode(errors="replace")
