"""A device is what was asked for, or an error that says what to do."""

import sys

import pytest

from livefusion.core.errors import DeviceError, LiveFusionError, SettingsError
from livefusion.devices.device import Device
from livefusion.devices.select import CudaDoor, missing_driver, open_device
from livefusion.testing.faults import FragileDevice

pytestmark = pytest.mark.unit

NO_CUPY = DeviceError("CuPy is not installed", "use --extra cuda, or use --device cpu")


class Door:
    """A machine with ``gpus`` GPUs, whose driver or libraries may be missing."""

    def __init__(self, gpus: int = 1, missing: str = "", error: DeviceError | None = None) -> None:
        self.tried: list[int] = []
        self._gpus = [FragileDevice(f"cuda:{index}") for index in range(gpus)]
        self._error = error
        self.door = CudaDoor(lambda: missing, self._open)

    def _open(self, index: int) -> Device:
        self.tried.append(index)
        if self._error is not None:
            raise self._error
        if index >= len(self._gpus):
            raise DeviceError(f"there is no cuda:{index}", "use --device cuda:0")
        return self._gpus[index]


@pytest.mark.parametrize(
    ("name", "got"),
    [("cpu", "cpu"), ("auto", "cuda:0"), ("cuda", "cuda:0"), ("cuda:0", "cuda:0"), ("cuda:1", "cuda:1")],
)
def test_what_is_there_is_no_fallback(name: str, got: str) -> None:
    selection = open_device(name, Door(gpus=2).door)
    assert (selection.device.name, selection.fallbacks) == (got, ())


@pytest.mark.parametrize(
    ("machine", "reason", "tried"),
    [
        (Door(missing="there is no NVIDIA driver here"), "there is no NVIDIA driver here", []),
        (Door(error=NO_CUPY), "CuPy is not installed", [0]),
        (Door(gpus=0), "there is no cuda:0", [0]),
    ],
)
def test_auto_says_what_it_fell_back_from(
    machine: Door, reason: str, tried: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    selection = open_device("auto", machine.door)
    assert len(caplog.records) == len(tried), "aloud only where there is a driver"
    (fallback,) = selection.fallbacks
    assert (fallback.wanted, fallback.got, selection.device.name) == ("cuda", "cpu", "cpu")
    assert reason in fallback.reason
    assert machine.tried == tried, "without a driver nothing heavy is loaded"


@pytest.mark.parametrize(
    ("name", "machine", "error", "status"),
    [
        ("cuda", Door(missing="no driver"), DeviceError, 3),
        ("cuda", Door(error=NO_CUPY), DeviceError, 3),
        ("cuda:1", Door(gpus=1), DeviceError, 3),
        ("gpu", Door(), SettingsError, 2),
        ("cuda:x", Door(), SettingsError, 2),
    ],
)
def test_never_another_device_in_silence(
    name: str, machine: Door, error: type[LiveFusionError], status: int
) -> None:
    with pytest.raises(error, match="use") as caught:
        open_device(name, machine.door)
    assert caught.value.exit_status == status


def test_two_graphs_share_a_device() -> None:
    machine = Door()
    assert open_device("cuda", machine.door).device is open_device("auto", machine.door).device


def test_this_machine_is_asked_without_loading_cupy() -> None:
    before = "cupy" in sys.modules
    missing = missing_driver()
    assert ("cupy" in sys.modules) is before
    assert missing == "" or "NVIDIA driver" in missing
