import numpy as np
import pytest

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.streams import SIZE, Way, _measure_way, _number_in, _port
from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.media.sources.camera import TIME_BASE
from livefusion.testing.webrtc import burn_number

pytestmark = pytest.mark.net


def picture() -> Frame:
    device = CpuDevice()
    buffer = FramePool(device, SIZE).acquire(device.stream("test"))
    np.copyto(buffer.luma, 60)
    return Frame(0, "test", Timestamp(0, TIME_BASE), 0, SIZE, ColorInfo(), buffer)


@pytest.mark.parametrize("number", [0, 1, 4711, 65_535])
def test_a_card_has_no_number(number: int) -> None:
    frame = picture()
    assert _number_in(frame) is None
    burn_number(frame.buffer.luma, number)
    # All bars alike is what a card looks like, too: those two numbers are not counted.
    assert _number_in(frame) == (None if number in {0, 65_535} else number)


@pytest.mark.parametrize(("scheme", "listen"), [("rtmp", "?listen=1"), ("rtsp", "")])
def test_a_way_is_measured_and_its_publisher_comes_back(scheme: str, listen: str) -> None:
    if scheme == "rtsp":
        pytest.importorskip("aiortc", reason="needs the extra webrtc")
    url = f"{scheme}://127.0.0.1:{_port()}/live/key"
    figures = {one.name: one for one in _measure_way(Way("way", url, listen), 3.0)}
    assert set(figures) == {
        f"way: {name}"
        for name in (
            "added p50",
            "added p95",
            "pictures",
            "publisher gone to card",
            "publisher back to picture",
        )
    }
    assert all(isinstance(one, Figure) and one.value > 0 for one in figures.values())
