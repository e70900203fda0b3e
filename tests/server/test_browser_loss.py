"""A real browser at the other end of a line that loses packets."""

import threading
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Frame
from livefusion.core.geometry import Size
from livefusion.core.settings import WebSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.media.decode.decoder import FrameDecoder
from livefusion.media.encode.outlet import TIME_BASE
from livefusion.media.formats import OutputFormat
from livefusion.media.webrtc.viewer import Viewer
from livefusion.server.door import open_door
from livefusion.testing.browser import Browser, find_chromium, write_numbered_camera
from livefusion.testing.webrtc import LossyRelay, numbered_picture

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(find_chromium() is None, reason="needs Chromium"),
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SIZE, FPS, KBIT = Size(640, 360), 30, 1500
SHOWN = """
(() => {
  const BITS = 16, numbers = (window.numbers = []);
  const track = document.getElementById("result").srcObject.getVideoTracks()[0].clone();
  const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 30 }).readable.getReader();
  (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const pixels = new Uint8Array(value.allocationSize());
      const [luma] = await value.copyTo(pixels);
      const row = luma.offset + luma.stride * Math.floor((value.codedHeight * 15) / 16);
      let number = 0;
      for (let bit = 0; bit < BITS; bit++) {
        const column = Math.floor(((bit + 0.5) * value.codedWidth) / BITS);
        number = (number << 1) | (pixels[row + column] > 125 ? 1 : 0);
      }
      numbers.push(number);
      value.close();
    }
  })();
})()
"""


class Show:
    """Brings numbered pictures, as hard to encode as the ceiling allows, to all who watch."""

    def __init__(self, share: Any) -> None:
        self._share = share
        self._device, self._decoder = CpuDevice(), FrameDecoder(CpuDevice())
        self._output = OutputFormat(SIZE, Fraction(FPS), ColorInfo(), TIME_BASE)
        self._textures = np.random.default_rng(1).integers(90, 160, (8, SIZE.height, SIZE.width), np.uint8)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.written = 0

    def __enter__(self) -> "Show":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        self._thread.join()

    def wait(self, pictures: int) -> int:
        """Until so many more were brought; the number of the last one."""
        last = self.written + pictures
        while self.written < last:
            self._end.wait(0.05)
        return self.written

    def _run(self) -> None:
        self._share.join(self._output)
        while not self._end.wait(1 / FPS):
            picture = numbered_picture(SIZE, self.written, self._textures[self.written % 8])
            self._decoder.adapt(picture)
            ts = Timestamp(self.written * 3000, TIME_BASE)
            buffer = self._decoder.convert(picture)
            frame = Frame(self.written, "t", ts, 0, self._decoder.size, self._decoder.color, buffer)
            self._share.write(frame, self._device, self._output)
            self.written += 1
        self._share.leave()


@pytest.fixture
def viewers(monkeypatch: pytest.MonkeyPatch) -> list[Viewer]:
    """Every viewer that is let in."""
    found: list[Viewer] = []
    begin = Viewer.__init__

    def note(self: Viewer, *arguments: Any) -> None:
        begin(self, *arguments)
        found.append(self)

    monkeypatch.setattr(Viewer, "__init__", note)
    return found


def longest_gap(numbers: list[int], first: int, last: int) -> int:
    seen = [first, *(number for number in numbers if first < number < last), last]
    return max(b - a for a, b in pairwise(seen)) - 1


def test_five_in_a_hundred_lost_leaves_the_picture_in_motion(viewers: list[Viewer], tmp_path: Path) -> None:
    """In numbers of pictures, not in seconds: a busy machine is slow, but loses no more for it."""
    with (
        open_door(WebSettings(port=0, bitrate=KBIT)) as door,
        Show(door.exchange.share) as show,
        Browser(write_numbered_camera(tmp_path / "camera.y4m", Size(64, 48))) as browser,
    ):
        browser.go(door.page)
        browser.evaluate("document.getElementById('watch').click()")
        browser.wait_for("document.getElementById('result').videoWidth > 0", 60)
        browser.evaluate(SHOWN)
        browser.wait_for("numbers.length > 10")
        relay = LossyRelay(share=0.05, seed=7)
        relay.stand_before(viewers[0].connection.peer.getSenders()[0])
        first = show.wait(FPS)
        last = show.wait(8 * FPS)
        relay.share = 0.0
        recovered = show.wait(2 * FPS)  # two seconds
        end = show.wait(2 * FPS)
        browser.wait_for(f"numbers.at(-1) >= {end - 5}")
        numbers: list[int] = browser.evaluate("numbers")
    assert relay.lost > 40
    shown = len({number for number in numbers if first < number <= last})
    assert shown >= 24 / 30 * (last - first)
    assert longest_gap(numbers, first, last) <= FPS // 2  # 500 ms
    assert longest_gap(numbers, recovered, end - 5) <= 2
    assert numbers == sorted(numbers)
