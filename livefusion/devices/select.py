"""From a name on the command line to a device, and the record of what was wanted and not to be had."""

import re
from dataclasses import dataclass

from livefusion.core.errors import DeviceError, SettingsError
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device

_CUDA = re.compile(r"cuda(:\d+)?")
_NO_CUDA = "this build has no CUDA device yet"


@dataclass(frozen=True, slots=True)
class Fallback:
    """Something that runs otherwise than it best would: what was wanted, what it is instead, and why."""

    wanted: str
    got: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The device to compute on, and what it stands in for."""

    device: Device
    fallbacks: tuple[Fallback, ...] = ()


def open_device(name: str) -> Selection:
    """Open ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.

    Only ``auto`` may end on another device than the best one, and then says so. ``DeviceError`` if the named
    device is not to be had, ``SettingsError`` if it is no device's name.
    """
    if name == "cpu":
        return Selection(CpuDevice())
    if name == "auto":
        return Selection(CpuDevice(), (Fallback("cuda", "cpu", _NO_CUDA),))
    if _CUDA.fullmatch(name):
        raise DeviceError(f"{name} cannot be used, because {_NO_CUDA}", "use --device cpu")
    raise SettingsError(f"{name!r} is no device", "use auto, cpu, cuda or cuda:N")
