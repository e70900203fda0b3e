"""A device is what was asked for, or an error that says what to do."""

import pytest

from livefusion.core.errors import DeviceError, LiveFusionError, SettingsError
from livefusion.devices.select import open_device

pytestmark = pytest.mark.unit


def test_cpu_is_no_fallback() -> None:
    selection = open_device("cpu")
    assert selection.device.name == "cpu"
    assert selection.fallbacks == ()


def test_auto_says_what_it_fell_back_from() -> None:
    selection = open_device("auto")
    (fallback,) = selection.fallbacks
    assert (fallback.wanted, fallback.got) == ("cuda", selection.device.name)
    assert fallback.reason


@pytest.mark.parametrize(
    ("name", "error", "status"),
    [
        ("cuda", DeviceError, 3),
        ("cuda:1", DeviceError, 3),
        ("gpu", SettingsError, 2),
        ("cuda:x", SettingsError, 2),
    ],
)
def test_never_another_device_in_silence(name: str, error: type[LiveFusionError], status: int) -> None:
    with pytest.raises(error, match="use") as caught:
        open_device(name)
    assert caught.value.exit_status == status
