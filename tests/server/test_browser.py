"""The page in a real browser: a headless Chromium sends its camera and sees the result."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("aiohttp", reason="needs the extra webrtc")
pytest.importorskip("aiortc", reason="needs the extra webrtc")

import livefusion.testing
from livefusion.core.errors import MachineError
from livefusion.core.geometry import Size
from livefusion.core.settings import Settings, WebSettings
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.server.door import Door, open_door
from livefusion.testing.browser import Browser, find_chromium, write_numbered_camera

pytestmark = [
    pytest.mark.net,
    pytest.mark.skipif(find_chromium() is None, reason="needs Chromium"),
    # aiortc leaves sockets and transports to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SIZE = Size(640, 360)
SOUND = """
[...document.getElementById('statistics').rows]
  .filter((row) => row.cells[0].textContent.startsWith('Sound received'))
  .map((row) => Number(row.cells[1].textContent) || 0)[0]
"""
SCRIPT = Path(livefusion.testing.__file__).with_name("round_trip.js")


@pytest.fixture(scope="module")
def camera(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbered_camera(tmp_path_factory.mktemp("camera") / "camera.y4m", SIZE)


@pytest.fixture
def door() -> Iterator[Door]:
    with open_door(WebSettings(port=0)) as door:
        settings = Settings(input="webrtc:", output=("webrtc:",), size=str(SIZE), device="cpu")
        pipeline = Pipeline(settings, parts=Parts(exchange=door.exchange))
        pipeline.start()
        try:
            yield door
        finally:
            pipeline.stop()


def start(browser: Browser, page: str) -> None:
    browser.go(page.replace("127.0.0.1", "localhost"))
    browser.evaluate(f"document.getElementById('size').value = '{SIZE}'")
    browser.wait_for("document.getElementById('microphone').options.length > 1")
    browser.evaluate("document.getElementById('microphone').selectedIndex = 1")
    browser.evaluate("document.getElementById('start').click()")
    browser.wait_for("document.getElementById('result').videoWidth > 0", 60)


def test_a_browser_sends_its_camera_and_sees_the_result(door: Door, camera: Path) -> None:
    with Browser(camera) as browser:
        start(browser, door.page)
        browser.evaluate(SCRIPT.read_text(encoding="utf-8"))
        browser.wait_for("trips.report().times.length >= 60", 60)
        seen = browser.evaluate("trips.report()")
        assert seen["backwards"] == 0
        assert list(seen["sizes"]) == [str(SIZE)]
        assert browser.evaluate("document.getElementById('statistics').rows.length") >= 5
        assert browser.evaluate("document.getElementById('self').classList.contains('mirrored')")
        assert not browser.evaluate("document.getElementById('result').classList.contains('mirrored')")
        assert browser.evaluate("document.getElementById('card').hidden")
        assert browser.evaluate("document.getElementById('result').muted")
        browser.evaluate("document.getElementById('listen').click()")
        browser.wait_for(f"{SOUND} > 0", 60)
        assert not browser.evaluate("document.getElementById('result').muted")
        assert door.exchange.inlet.sound.received > 0
        browser.evaluate("document.getElementById('stop').click()")
        browser.wait_for("document.getElementById('status').textContent === 'Stopped'")
        assert not browser.evaluate("document.getElementById('card').hidden")
        browser.wait_for("document.getElementById('start').disabled === false")


REFUSALS = [
    ("NotAllowedError", "Allow them"),
    ("NotFoundError", "still watch"),
    ("NotReadableError", "another program"),
    ("OddError", "cannot be opened"),
]


def test_what_stands_in_the_way_is_told_and_can_be_corrected(door: Door, camera: Path) -> None:
    with Browser(camera) as browser:
        browser.go(door.page)
        browser.wait_for("document.getElementById('camera').options.length > 0")
        for name, told in REFUSALS:
            browser.evaluate(
                f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '{name}'))"
            )
            browser.evaluate("document.getElementById('start').focus()")
            browser.evaluate("document.getElementById('start').click()")
            browser.wait_for(f"document.getElementById('status').textContent.includes('{told}')")
            assert browser.evaluate("document.getElementById('status').className") == "problem"
            assert browser.evaluate("document.activeElement.id") == "start"  # the keyboard's place is kept
        browser.evaluate("document.getElementById('watch').click()")
        browser.wait_for("document.getElementById('status').textContent === 'Connected'")
        assert (
            browser.evaluate("document.getElementById('card-title').textContent") == "Waiting for a picture"
        )
        browser.go("about:blank")
        browser.go(f"{door.address}/#token=wrong")
        browser.evaluate("document.getElementById('watch').click()")
        browser.wait_for("document.getElementById('status').classList.contains('problem')")
        assert "token" in browser.evaluate("document.getElementById('status').textContent")
        browser.evaluate(f"document.getElementById('token').value = '{door.token}'")
        browser.evaluate("document.getElementById('watch').click()")
        browser.wait_for("document.getElementById('status').textContent === 'Connected'")


def test_a_page_that_gets_no_camera_says_so_and_can_watch(door: Door, camera: Path) -> None:
    """Browsers give none to pages by http of another machine."""
    with Browser(camera) as browser:
        browser.before_load("Object.defineProperty(navigator, 'mediaDevices', { value: undefined })")
        browser.go(door.page)
        browser.wait_for("document.getElementById('status').className === 'problem'")
        assert "https" in browser.evaluate("document.getElementById('status').textContent")
        assert browser.evaluate("document.getElementById('start').disabled")
        browser.evaluate("document.getElementById('watch').click()")
        browser.wait_for("document.getElementById('status').textContent === 'Connected'")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_its_threads_weigh_no_more_than_ours(camera: Path) -> None:
    """Root's would lift themselves, and be measured as no user's browser is."""
    with Browser(camera) as browser:
        browser.go("about:blank")
        tree = [psutil.Process(browser.pid), *psutil.Process(browser.pid).children(recursive=True)]
        tasks = [task for one in tree for task in Path(f"/proc/{one.pid}/task").glob("*/stat")]
        niceness = [int(task.read_text().rpartition(")")[2].split()[16]) for task in tasks]
    assert len(niceness) > len(tree) > 1
    assert min(niceness) >= os.nice(0)


def test_a_failure_in_the_page_is_ours(camera: Path) -> None:
    with Browser(camera) as browser, pytest.raises(MachineError, match="no such thing"):
        browser.evaluate("(() => { throw new Error('no such thing'); })()")
