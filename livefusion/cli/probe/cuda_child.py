"""Asks the NVIDIA driver what it has and prints it as JSON.

Run in a process of its own, because a driver may hang or crash. It uses the driver's own libraries (CUDA
driver API, NVML) alone, so that no package has to be installed.
"""

import ctypes
import json
import sys

COMPUTE_MAJOR, COMPUTE_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
NAME_LENGTH = 256
RELEASE_LENGTH = 80  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE


def main() -> int:
    """Print what is there, or ``{"error": …}``.

    ``{"release": "580.95.05", "driver": [13, 0], "devices": [{"name", "memory", "compute"}]}``; the release
    is empty if NVML does not tell it.
    """
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return _say({"error": f"no NVIDIA driver ({library} is not there)"})
    status = driver.cuInit(0)
    if status:
        return _say({"error": f"the NVIDIA driver does not start (cuInit gives {status})"})
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    devices = [_device(driver, index) for index in range(count.value)]
    supported = [version.value // 1000, version.value % 1000 // 10]
    return _say({"release": _release(), "driver": supported, "devices": devices})


def _release() -> str:
    try:
        nvml = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
        if nvml.nvmlInit_v2():
            return ""
        text = ctypes.create_string_buffer(RELEASE_LENGTH)
        status = nvml.nvmlSystemGetDriverVersion(text, RELEASE_LENGTH)
    except (OSError, AttributeError):
        return ""
    return "" if status else text.value.decode(errors="replace")


def _device(driver: ctypes.CDLL, index: int) -> dict[str, object]:
    handle, memory = ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(NAME_LENGTH)
    driver.cuDeviceGet(ctypes.byref(handle), index)
    driver.cuDeviceGetName(name, NAME_LENGTH, handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), handle)
    compute = []
    for attribute in (COMPUTE_MAJOR, COMPUTE_MINOR):
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        compute.append(value.value)
    return {"name": name.value.decode(errors="replace"), "memory": memory.value, "compute": compute}


def _say(answer: dict[str, object]) -> int:
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
