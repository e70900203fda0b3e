"""The npm package whip-whep in a browser, on a page of another site: it sends, and watches the result."""

import functools
import json
import shutil
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

from livefusion.core.geometry import Size
from livefusion.core.settings import Settings, WebSettings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.server.door import Door, open_door
from livefusion.testing.browser import Browser, find_chromium, write_numbered_camera

CLIENT = Path(__file__).parents[2] / "build/npm/node_modules/whip-whep"
SIZE = Size(320, 180)
PAGE = """<!doctype html><meta charset="utf-8"><video id="result" muted autoplay playsinline></video>
<script type="module">
import { WHIPClient } from "./whip.js";
import { WHEPClient } from "./whep.js";
const whip = new WHIPClient(), whep = new WHEPClient();
window.send = async (address, token) => {
  const stream = await navigator.mediaDevices.getUserMedia({ video: true, audio: true });
  const peer = new RTCPeerConnection();
  for (const track of stream.getTracks()) {
    peer.addTransceiver(track, { direction: "sendonly", streams: [stream] });
  }
  await whip.publish(peer, `${address}/whip`, token);
};
window.watch = async (address, token) => {
  const peer = new RTCPeerConnection();
  peer.addTransceiver("video", { direction: "recvonly" });
  peer.addTransceiver("audio", { direction: "recvonly" });
  const shown = new MediaStream();
  peer.ontrack = ({ track }) => {
    shown.addTrack(track);
    document.getElementById("result").srcObject = shown;
  };
  await whep.view(peer, `${address}/whep`, token);
};
window.leave = async () => { await whip.stop(); await whep.stop(); };
window.ready = true;
</script>"""

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(find_chromium() is None, reason="needs Chromium"),
    pytest.mark.skipif(
        not CLIENT.is_dir(), reason="needs whip-whep (npm install --prefix build/npm whip-whep)"
    ),
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """A web site of somebody else with the client on its page."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    for name in ("whip.js", "whep.js"):
        shutil.copy(CLIENT / name, folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def door(site: str) -> Iterator[Door]:
    with open_door(WebSettings(port=0, origins=(site,))) as door:
        settings = Settings(input="webrtc:", output=("webrtc:",), size=str(SIZE), device="cpu")
        pipeline = Pipeline(settings, parts=Parts(exchange=door.exchange))
        pipeline.start()
        try:
            yield door
        finally:
            pipeline.stop()


def sessions(door: Door) -> list[dict[str, object]]:
    connection = HTTPConnection(door.address.removeprefix("http://"), timeout=20)
    connection.request("GET", "/api/sessions", headers={"Authorization": f"Bearer {door.token}"})
    found: list[dict[str, object]] = json.loads(connection.getresponse().read())["sessions"]
    connection.close()
    return found


def test_it_sends_watches_and_takes_leave(site: str, door: Door, tmp_path: Path) -> None:
    with Browser(write_numbered_camera(tmp_path / "camera.y4m", SIZE)) as browser:
        browser.go(site)
        browser.wait_for("window.ready === true")
        browser.evaluate(f"send('{door.address}', '{door.token}')")
        browser.evaluate(f"watch('{door.address}', '{door.token}')")
        browser.wait_for("document.getElementById('result').videoWidth > 0", 100)
        assert {(one["role"], one["connected"]) for one in sessions(door)} == {
            ("publisher", True),
            ("viewer", True),
        }
        assert door.exchange.inlet.sound.received > 0
        browser.evaluate("leave()")
        assert sessions(door) == []


def test_the_wrong_token_is_told(site: str, door: Door, tmp_path: Path) -> None:
    with Browser(write_numbered_camera(tmp_path / "camera.y4m", SIZE)) as browser:
        browser.go(site)
        browser.wait_for("window.ready === true")
        told = browser.evaluate(f"watch('{door.address}', 'wrong').then(() => '', (error) => String(error))")
        assert "401" in told
        assert sessions(door) == []
