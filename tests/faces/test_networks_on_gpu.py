"""The built-in networks on a real GPU against the CPU: same numbers, whatever else the GPU does meanwhile."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from livefusion.core.errors import DeviceError
from livefusion.core.geometry import Size
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.select import open_device
from livefusion.faces.build import Networks
from livefusion.faces.yunet import LANDSCAPE, PORTRAIT, YuNetDecoder
from livefusion.inference.network import BoundNetwork

pytestmark = pytest.mark.gpu

Shapes = Mapping[str, tuple[int, ...]]
Answers = list[dict[str, npt.NDArray[np.float32]]]


def yunet(size: Size) -> tuple[str, tuple[int, ...], Shapes]:
    return "yunet", (1, 3, size.height, size.width), YuNetDecoder.output_shapes(size)


NETWORKS = [
    (*yunet(LANDSCAPE), 255, 2e-2),
    (*yunet(PORTRAIT), 255, 2e-2),
    ("face_landmarks", (1, 3, 256, 256), {"landmarks": (1, 478, 3), "presence": (1,)}, 1, 5e-2),
    ("sface", (1, 3, 112, 112), {"embedding": (1, 128)}, 255, 1e-2),
    ("face_occluder", (1, 3, 128, 128), {"occlusion": (1, 1, 128, 128)}, 1, 2e-2),
]


@pytest.fixture(scope="module")
def gpu() -> Device:
    try:
        return open_device("cuda:0").device
    except DeviceError as error:
        pytest.skip(str(error))


def wave(shape: tuple[int, ...], high: float, phase: int) -> npt.NDArray[np.float32]:
    steps = np.arange(np.prod(shape)).reshape(shape)
    return np.asarray(high * (0.5 + 0.5 * np.sin(0.37 * steps + phase)), np.float32)


def answers(
    device: Device, networks: Networks, name: str, image: tuple[int, ...], outputs: Shapes, high: float
) -> Answers:
    """Four launches of two pictures each on the same buffers, one behind the other without a pause."""
    network = BoundNetwork(device, networks[name], name, image, outputs, count=2)
    stream, found = device.stream("caller"), []
    for turn in range(4):
        pictures = np.concatenate([wave(image, high, 10 * turn + index) for index in range(2)])
        device.copy(network.image, pictures, stream)
        network.launch(stream, 2)
        stream.record().synchronize()
        found += [{key: network.output(key, index).copy() for key in outputs} for index in range(2)]
    return found


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(
    ("name", "image", "outputs", "high", "tolerance"), NETWORKS, ids=[f"{n[0]}-{n[1][-1]}" for n in NETWORKS]
)
def test_numbers_are_those_of_the_cpu(
    gpu: Device,
    name: str,
    image: tuple[int, ...],
    outputs: Shapes,
    high: float,
    tolerance: float,
    graphs: bool,
) -> None:
    if graphs and name != "face_landmarks":
        pytest.skip("not captured")
    host = CpuDevice()
    on_gpu = Networks(gpu, graphs=graphs)
    assert on_gpu[name].placement.is_complete
    wanted = answers(host, Networks(host), name, image, outputs, high)
    found = answers(gpu, on_gpu, name, image, outputs, high)
    for ones, others in zip(wanted, found, strict=True):
        for key in outputs:
            np.testing.assert_allclose(others[key], ones[key], rtol=tolerance, atol=tolerance, err_msg=key)
