"""What this machine has: GPU, driver, libraries, packages."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from importlib import metadata

from gpu_checks.machine import Machine
from gpu_checks.sheet import Row

_LIBRARIES = {
    "driver": ("libcuda.so.1",),
    "NVDEC": ("libnvcuvid.so.1",),
    "NVENC": ("libnvidia-encode.so.1",),
    "NVML": ("libnvidia-ml.so.1",),
    "cuBLAS": ("libcublas.so.13", "libcublas.so.12"),
    "cuDNN": ("libcudnn.so.9",),
}
_PACKAGES = (
    "cupy-cuda13x",
    "cupy-cuda12x",
    "onnxruntime-gpu",
    "nvidia-dali-cuda130",
    "PyNvVideoCodec",
    "torch",
    "av",
    "numpy",
)


def check(machine: Machine) -> list[Row]:
    """One row for each thing that is there or not."""
    runtime = machine.cupy.cuda.runtime
    rows = [
        Row("inventory", "GPU", machine.device.description),
        Row("inventory", "Python", f"{platform.python_version()} on {sys.platform}"),
    ]
    if not machine.stands_in:
        rows += [
            Row(
                "inventory",
                "CUDA of the driver, of the runtime",
                f"{runtime.driverGetVersion()}, {runtime.runtimeGetVersion()}",
            ),
            Row(
                "inventory",
                "memory free of all (GB)",
                " of ".join(f"{size / 1e9:.1f}" for size in runtime.memGetInfo()),
            ),
            Row("inventory", "L2 cache (MB)", f"{_l2_bytes(machine) / 1e6:.1f}"),
            Row("inventory", "clock and driver", _smi()),
            Row("inventory", "NVRTC that CuPy finds", _compiler(machine)),
        ]
    rows += [Row("inventory", f"library {name}", _library(files)) for name, files in _LIBRARIES.items()]
    rows += [Row("inventory", f"package {name}", _version(name)) for name in _PACKAGES]
    return rows


def _l2_bytes(machine: Machine) -> int:
    runtime = machine.cupy.cuda.runtime
    return int(runtime.deviceGetAttribute(runtime.cudaDevAttrL2CacheSize, machine.device.index))


def _compiler(machine: Machine) -> str:
    """CuPy also looks where pip puts it; the system's loader does not."""
    try:
        return ".".join(map(str, machine.cupy.cuda.nvrtc.getVersion()))
    except (RuntimeError, ImportError) as error:
        return f"none ({error})"


def _library(files: tuple[str, ...]) -> str:
    for file in files:
        try:
            ctypes.CDLL(file)
        except OSError:
            continue
        return file
    return f"not on the system's path: {', '.join(files)}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _smi() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,power.draw", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"nvidia-smi: {type(error).__name__}"
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "nvidia-smi says nothing"
