"""From a name on the command line to a device, and the record of what was wanted and not to be had."""

import ctypes
import logging
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from livefusion.core.errors import DeviceError, SettingsError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device

_log = logging.getLogger(__name__)

_CUDA = re.compile(r"cuda(?::(\d+))?")
_INSTALL_DRIVER = "install NVIDIA's driver 580 or newer, or use --device cpu"


@dataclass(frozen=True, slots=True)
class Fallback:
    """Something that runs otherwise than it best would: what was wanted, what it is instead, and why."""

    wanted: str
    got: str
    reason: str


@runtime_checkable
class FallsBack(Protocol):
    """A part that tells of its fallbacks, the newest last."""

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What it does otherwise than it best would."""
        ...


def fallbacks_of(part: object) -> tuple[Fallback, ...]:
    """The fallbacks of any part; none if it has no way to tell of them."""
    return part.fallbacks if isinstance(part, FallsBack) else ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The device to compute on, and what it stands in for."""

    device: Device
    fallbacks: tuple[Fallback, ...] = ()


@dataclass(frozen=True, slots=True)
class CudaDoor:
    """How CUDA is reached: what is missing before it is worth a try, and the device of an index.

    ``missing`` is cheap (0.1 ms without a driver) where importing CuPy takes a second. ``open`` gives one
    device for each index of a process, so that graphs share the context; it raises ``DeviceError``.
    """

    missing: Callable[[], str]
    open: Callable[[int], Device]


def missing_driver() -> str:
    """What is wrong with NVIDIA's driver, in words; empty if its library loads."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        ctypes.CDLL(library)
    except OSError:
        return f"there is no NVIDIA driver here ({library} does not load)"
    return ""


def _open_cuda(index: int) -> Device:
    from livefusion.devices.cuda import open_cuda

    return open_cuda(index)


_DOOR = CudaDoor(missing_driver, _open_cuda)


def open_device(name: str, door: CudaDoor = _DOOR) -> Selection:
    """Open ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; without a number it is CUDA's first, the fastest one.

    Only ``auto`` may end on another device than the best one, and then says so. ``DeviceError`` if the named
    device is not to be had, ``SettingsError`` if it is no device's name.
    """
    if name == "cpu":
        return Selection(CpuDevice())
    if name == "auto":
        return _open_best(door)
    match = _CUDA.fullmatch(name)
    if match is None:
        raise SettingsError(f"{name!r} is no device", "use auto, cpu, cuda or cuda:N")
    return Selection(_enter(door, int(match[1] or 0)))


def _open_best(door: CudaDoor) -> Selection:
    if missing := door.missing():
        return Selection(CpuDevice(), (Fallback("cuda", "cpu", missing),))
    try:
        return Selection(door.open(0))
    except DeviceError as error:
        # Aloud: who has a driver counts on the GPU, and would wonder about the frame rate.
        _log.warning("the CPU is used instead of the GPU: %s", error)
        return Selection(CpuDevice(), (Fallback("cuda", "cpu", error.problem),))


def _enter(door: CudaDoor, index: int) -> Device:
    if missing := door.missing():
        raise DeviceError(f"cuda:{index} cannot be used: {missing}", _INSTALL_DRIVER)
    return door.open(index)
