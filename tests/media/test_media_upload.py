import numpy as np
import pytest

from livefusion.core.geometry import Size
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.testing.media import pattern_picture, pattern_planes
from livefusion.testing.simdevice import SimDevice

pytestmark = pytest.mark.media

SIZE = Size(32, 16)
PICTURES = 6


def decode_and_read(device: SimDevice, *, staged: bool) -> list[np.ndarray]:
    """Each picture is decoded on one stream and copied away on another; two slots serve them all."""
    decoder = FrameDecoder(device, pictures=2, staged=staged)
    reader = device.stream("reader")
    copies = []
    for index in range(PICTURES):
        picture = pattern_picture(SIZE, index)
        decoder.adapt(picture)
        buffer = decoder.convert(picture)
        del picture  # its memory must live until the work has run
        reader.wait(buffer.ready)
        copies.append(device.empty((SIZE.height * 3 // 2, SIZE.width), "uint8"))
        device.copy(copies[-1][: SIZE.height], buffer.luma, reader)
        device.copy(copies[-1][SIZE.height :].reshape(buffer.chroma.shape), buffer.chroma, reader)
        buffer.read_until(reader.record(), reader)
    device.synchronize()
    return copies


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("staged", [False, True])
def test_every_picture_arrives_whatever_the_order_of_work(seed: int, staged: bool) -> None:
    device = SimDevice(seed)
    copies = decode_and_read(device, staged=staged)

    for index, nv12 in enumerate(copies):
        y, u, v = pattern_planes(SIZE, index)
        np.testing.assert_array_equal(nv12[: SIZE.height], y)
        np.testing.assert_array_equal(nv12[SIZE.height :].reshape(*u.shape, 2), np.stack([u, v], axis=2))
    device.assert_no_races()


@pytest.mark.parametrize("staged", [False, True])
def test_each_wait_is_needed(staged: bool) -> None:
    counted = SimDevice(0)
    decode_and_read(counted, staged=staged)
    assert counted.mutation.count >= PICTURES
    for index in range(counted.mutation.count):
        device = SimDevice(0, drop_wait=index)
        decode_and_read(device, staged=staged)
        assert device.races, f"nobody noticed that wait {index} was missing"
