"""The choice of a preprocessor, and the one made of our operators."""

import logging
import sys

import numpy as np
import pytest
from preprocess_cases import CudaByName, Tensor, expected, noise, on_device

from livefusion.core.color import ColorInfo, Matrix, Range
from livefusion.core.errors import DeviceError
from livefusion.core.geometry import Size
from livefusion.core.settings import Preprocess
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.ops.preprocess import Normalisation, Nv12, OperatorPreprocessor, open_preprocessor
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.unit

SIZES = [Size(40, 24)]
PICTURES = [
    noise(160, 96, ColorInfo()),
    noise(84, 62, ColorInfo(Matrix.BT601, Range.FULL), seed=1),
    noise(20, 24, ColorInfo(Matrix.BT601), seed=2),
]
WAYS = [
    Normalisation(),
    Normalisation(127.5, 1 / 128, "rgb"),
    Normalisation((104.0, 117.0, 123.0), (0.5, 1.0, 0.25), "rgb"),
    Normalisation((104.0, 117.0, 123.0), (0.5, 1.0, 0.25), "bgr"),
]
LEVELS = 2.5
"""What rounded planes cost, as in the conformance test of the operator."""


@pytest.fixture
def no_dali(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvidia.dali", None)
    monkeypatch.setitem(sys.modules, "nvidia", None)


def filled(device: Device, how: Normalisation) -> Tensor:
    stream = device.stream("detect")
    pictures = [on_device(device, picture, stream) for picture in PICTURES]
    out = device.empty((3, 3, 24, 40), np.float32)
    preprocessor = OperatorPreprocessor(device, how)
    preprocessor.prepare(Size(40, 24), 3)
    preprocessor.fill(pictures, out, stream)
    stream.record().synchronize()
    return device.to_host(out)


@pytest.mark.parametrize("how", WAYS)
def test_operators_fit_pictures_of_several_sizes_and_colours_into_one_tensor(how: Normalisation) -> None:
    wanted = expected(PICTURES, 24, 40, how)
    assert np.abs(filled(CpuDevice(), how) - wanted).max() <= LEVELS * np.max(how.scale)


@pytest.mark.parametrize("seed", range(10))
def test_operators_keep_the_order_of_the_stream(seed: int) -> None:
    device = SimDevice(seed, host_orders=False)
    wanted = filled(CpuDevice(), Normalisation())
    assert np.array_equal(filled(device, Normalisation()), wanted)
    device.assert_no_races()


def test_a_picture_that_is_still_written_is_a_race() -> None:
    device = SimDevice()
    decode, detect = device.stream("decode"), device.stream("detect")
    picture = on_device(device, PICTURES[0], decode)
    OperatorPreprocessor(device).fill([picture], device.empty((1, 3, 24, 40), np.float32), detect)
    assert device.races


@pytest.mark.parametrize("shape", [(2, 3, 24, 40), (3, 24, 40), (1, 1, 24, 40)])
def test_the_tensor_must_have_room_for_each_picture(shape: tuple[int, ...]) -> None:
    device = CpuDevice()
    picture = Nv12(PICTURES[0].luma, PICTURES[0].chroma, ColorInfo())
    with pytest.raises(ValueError, match="1 pictures do not fill"):
        OperatorPreprocessor(device).fill([picture], np.empty(shape, np.float32), device.stream("detect"))


@pytest.mark.parametrize("choice", [Preprocess.AUTO, Preprocess.CUPY])
def test_the_cpu_uses_our_operators(choice: Preprocess) -> None:
    assert open_preprocessor(CpuDevice(), choice, SIZES).name == "operators"


def test_cupy_on_cuda_is_our_operators() -> None:
    assert open_preprocessor(CudaByName(), Preprocess.CUPY, SIZES).name == "operators"


@pytest.mark.usefixtures("no_dali")
def test_auto_without_dali_uses_our_kernels_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "livefusion.ops.preprocess"):
        assert open_preprocessor(CudaByName(), Preprocess.AUTO, SIZES).name == "operators"
    assert not caplog.records  # for one picture nobody asked for it
    with caplog.at_level(logging.INFO, "livefusion.ops.preprocess"):
        assert open_preprocessor(CudaByName(), Preprocess.AUTO, SIZES, count=4).name == "operators"
    assert "NVIDIA DALI is not installed" in caplog.text


@pytest.mark.usefixtures("no_dali")
def test_dali_by_name_without_dali_says_what_to_do() -> None:
    with pytest.raises(DeviceError, match=r"^NVIDIA DALI is not installed: .*--preprocess cupy$"):
        open_preprocessor(CpuDevice(), Preprocess.DALI, SIZES)
