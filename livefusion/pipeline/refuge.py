"""The CPU made ready for the day on which the GPU is lost.

Where the CPU's operators were never compiled, leaving the GPU takes nine seconds of slates. A child process
compiles them into numba's cache meanwhile: a thread would hold the interpreter from the live picture.
"""

import logging
import subprocess
import sys
from collections.abc import Callable, Sequence

import psutil

from livefusion.devices.device import Device

_log = logging.getLogger(__name__)

_COMPILE = (
    "from livefusion.devices.cpu import CpuDevice; from livefusion.ops.registry import all_operators; "
    "CpuDevice().prepare(*all_operators())"
)
if sys.platform == "win32":
    _LOWEST = psutil.IDLE_PRIORITY_CLASS
else:
    _LOWEST = 19

Start = Callable[[Sequence[str]], "subprocess.Popen[bytes]"]


def _start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def prepare_refuge(device: Device, start: Start = _start) -> None:
    """Have the CPU's operators compiled if the run is on CUDA; returns when that is done.

    It is no matter if it fails: then the GPU's loss takes longer.
    """
    if not device.name.startswith("cuda"):
        return
    try:
        child = start((sys.executable, "-c", _COMPILE))
        psutil.Process(child.pid).nice(_LOWEST)
        child.wait()
    except (OSError, psutil.Error) as error:
        _log.debug("the CPU is not made ready: %s", error)
