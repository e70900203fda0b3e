"""With the GPU packages but without a driver, what does not work says so in our words."""

import ctypes
import subprocess
import sys

import pytest

from livefusion.core.errors import DeviceError
from livefusion.devices.cuda import open_cuda
from livefusion.devices.select import open_device


def _driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


pytestmark = [pytest.mark.gpu_wheels, pytest.mark.skipif(_driver(), reason="there is an NVIDIA driver here")]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, in a process of its own."""
    command = [sys.executable, "-m", "livefusion", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_run_that_asks_for_cuda_ends_with_3_and_the_remedy(device: str) -> None:
    done = run("run", "--device", device, "-i", "performer:", "-o", "null:")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1, done.stderr
    assert "driver" in done.stderr
    assert "--device cpu" in done.stderr


def test_doctor_names_the_missing_driver() -> None:
    done = run("doctor")
    assert done.returncode == 0
    line = next(line for line in done.stdout.splitlines() if "CUDA" in line)
    assert "lacking" in line
    assert "no NVIDIA driver" in line


def test_auto_falls_back_and_says_why() -> None:
    selection = open_device("auto")
    assert selection.device.name == "cpu"
    (fallback,) = selection.fallbacks
    assert (fallback.wanted, fallback.got) == ("cuda", "cpu")
    assert "no NVIDIA driver" in fallback.reason


def test_opening_the_device_itself_says_what_is_missing() -> None:
    with pytest.raises(DeviceError, match="no NVIDIA driver, or it is too old") as told:
        open_cuda(0)
    assert told.value.__cause__ is not None


def test_cupy_imports_and_sees_no_gpu() -> None:
    cupy = pytest.importorskip("cupy")
    assert not cupy.cuda.is_available()
