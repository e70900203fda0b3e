"""The way of a picture from a browser through the graph and back, by a number burnt into it.

The round trip holds the browser's encoder and decoder; camera and screen are not in it, and the page draws no
picture meanwhile. What the server adds is from the first packet of a picture in to its last packet out. What
the browser takes alone is measured before, with its own packets sent back to it.
"""

import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import livefusion.testing
from livefusion.cli.bench.cores import CoreUse
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.errors import MachineError
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace, Settings, WebSettings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.runtime.stage import StageContext
from livefusion.server.door import open_door
from livefusion.testing.browser import Browser
from livefusion.testing.echo import echoing
from livefusion.testing.passage import STEPS, Passage, noting_passages
from livefusion.testing.webrtc import burn_number

SCENARIO = "webrtc"
FPS = 30
_PICTURES = 150
_SETTLE_SECONDS = 5.0
_ALONE_SECONDS = 10.0
# What is imported beside the first pictures takes a tenth of a core, for half a minute on a busy machine.
_BESIDE, _BESIDE_SECONDS = "filterpy", 60.0
# Without a GPU Chromium draws them on the cores that are measured: 0.35 of one for 720p at 30, the round trip
# at 0.86 of what it is with them, in two pairs of runs.
_UNDRAWN = "for (const one of document.querySelectorAll('video')) one.style.visibility = 'hidden'"
_CLOCK_READS = 30
_BROWSER_STEPS = "browser encodes", "browser decodes"
_SCRIPT = Path(livefusion.testing.__file__).with_name("round_trip.js")


@dataclass(frozen=True, slots=True)
class Case:
    """A camera's picture with a face of so many pixels, or none, and the bars in ms."""

    size: Size
    face: int
    p50: str
    p95: str

    @property
    def name(self) -> str:
        """For example ``1280x720, face 300``."""
        return f"{self.size}, {f'face {self.face}' if self.face else 'no face'}"


@dataclass(frozen=True, slots=True)
class Watched:
    """What the page's script noted, which cores were busy, and monotonic time less the page's clock in ms."""

    seen: dict[str, Any]
    cores: CoreUse
    offset_ms: float = 0.0
    passages: tuple[tuple[Passage, float, float], ...] = ()
    """Of each picture that was seen: its passage, and ms before and after it."""


CASES = (
    Case(Size(1280, 720), 300, "≤ 40", "≤ 60"),
    Case(Size(1280, 720), 0, "≤ 20", "≤ 30"),
    Case(Size(640, 360), 0, "", "≤ 25"),
)


def measure(options: BenchOptions) -> list[Figure]:
    """Run every case in turn. ``MachineError`` if there is no Chromium, ``DriverError`` without the extra."""
    return [figure for case in CASES for figure in _measure_case(case, options)]


def write_camera(path: Path, size: Size, face: int, pictures: int = _PICTURES) -> None:
    """A camera's file of numbered pictures of the performer with a face of so many pixels; 0 for none."""
    uri = f"performer:?size={size}&fps={FPS}" + (f"&face={face}" if face else "")
    source = PerformerSource(uri, CpuDevice(), pace=Pace.FAST)
    source.open(StageContext("camera", SystemClock()))
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{size.width} H{size.height} F{FPS}:1 Ip A1:1 C420jpeg\n".encode())
        for number in range(pictures):
            frame: Any = source.read()
            luma, chroma = np.array(frame.buffer.luma), np.array(frame.buffer.chroma)
            if not face:  # the backdrop alone, moved
                luma = np.roll(np.tile(luma[:, : size.width // 8], (1, 8)), 4 * number, 1)
                chroma = np.full_like(chroma, 128)
            burn_number(luma, number)
            planes = (luma, chroma[..., 0], chroma[..., 1])
            file.write(b"FRAME\n" + b"".join(np.ascontiguousarray(plane).tobytes() for plane in planes))
    source.close()


def _measure_case(case: Case, options: BenchOptions) -> list[Figure]:
    camera = options.folder / f"camera-{case.size}-{case.face}.y4m"
    if not camera.exists():
        options.note(f"drawing {camera.name}")
        write_camera(camera, case.size, case.face)
    alone = _watch_alone(case, camera, options)
    options.note(f"running {case.name} for {options.seconds:g} s")
    with open_door(WebSettings(port=0)) as door, noting_passages() as book:
        settings = Settings(input="webrtc:", output=("webrtc:",), size=str(case.size), device="cpu")
        pipeline = Pipeline(settings, parts=Parts(trail=NOWHERE, exchange=door.exchange))
        pipeline.start()
        try:
            with Browser(camera) as browser:
                watched = _watch(browser, door.page, case.size, options.seconds)
            report = pipeline.report()
        finally:
            pipeline.stop()
    if not options.keep:
        camera.unlink()
    passages = tuple(book.of_trips(watched.seen["trips"], watched.offset_ms))
    return figures_of(case, replace(watched, passages=passages), report, alone)


def _watch_alone(case: Case, camera: Path, options: BenchOptions) -> Watched:
    """The same with the browser's packets sent back to it as they are."""
    seconds = min(options.seconds, _ALONE_SECONDS)
    options.note(f"running {case.name} for {seconds:g} s without the graph")
    with open_door(WebSettings(port=0)) as door, echoing(door.exchange), Browser(camera) as browser:
        return _watch(browser, door.page, case.size, seconds)


def _watch(browser: Browser, page: str, size: Size, seconds: float) -> Watched:
    """Send and watch for so long."""
    browser.go(page.replace("127.0.0.1", "localhost"))
    browser.evaluate(f"document.getElementById('size').value = '{size}'")
    browser.evaluate("document.getElementById('start').click()")
    browser.wait_for("document.getElementById('result').videoWidth > 0", 120)
    browser.evaluate(_UNDRAWN)
    browser.evaluate(_SCRIPT.read_text(encoding="utf-8"))
    _settle()
    offset_ms = _clock_offset(browser)
    browser.evaluate("trips.reset()")
    before, start = CoreUse.now(browser.pid), time.monotonic()
    time.sleep(seconds)
    seen: dict[str, Any] = browser.evaluate("trips.report()")
    cores = CoreUse.now(browser.pid).since(before, time.monotonic() - start)
    return Watched(seen, cores, offset_ms)


def _clock_offset(browser: Browser) -> float:
    """Milliseconds of monotonic time less those of the page's clock, by the question answered soonest."""
    reads = []
    for _ in range(_CLOCK_READS):
        asked = time.monotonic() * 1000
        theirs = browser.evaluate("performance.now()")
        answered = time.monotonic() * 1000
        reads.append((answered - asked, (asked + answered) / 2 - theirs))
    return float(min(reads)[1])


def _settle() -> None:
    """Wait for the steady state: what is done once, at the start, is told by ``bench startup``."""
    time.sleep(_SETTLE_SECONDS)
    for thread in threading.enumerate():
        if thread.name == _BESIDE:
            thread.join(timeout=_BESIDE_SECONDS)


def figures_of(case: Case, watched: Watched, report: dict[str, Any], alone: Watched) -> list[Figure]:
    """The rows of a case from what was seen with the graph and without, and the report of the graph.

    ``MachineError`` if no picture came back.
    """
    seen = watched.seen
    if not (seen["times"] and alone.seen["times"]):
        raise MachineError("no picture came back to the browser", "close other programs and measure again")
    times = np.array(seen["times"])
    other_sizes = sum(count for size, count in seen["sizes"].items() if size != str(case.size))
    rows = [
        ("round trip p50", np.percentile(times, 50), "ms", case.p50),
        ("round trip p95", np.percentile(times, 95), "ms", case.p95),
        ("round trip max", times.max(), "ms", ""),
        ("the browser alone p50", np.percentile(alone.seen["times"], 50), "ms", ""),
        ("the browser alone p95", np.percentile(alone.seen["times"], 95), "ms", ""),
        ("pictures back", seen["fps"], "fps", "≥ 29"),
        ("pictures sent", seen["sent"], "fps", ""),
        ("of another size", other_sizes, "pictures", "= 0"),
        ("longest gap", seen["gap"], "ms", ""),
        ("out of order", seen["backwards"], "pictures", "= 0"),
        ("unclear", seen["unclear"], "pictures", ""),
        *_steps_of(watched.passages),
        ("cores busy with LiveFusion", watched.cores.ours, "", ""),
        ("cores busy with the browser", watched.cores.theirs, "", ""),
        ("cores busy with others", watched.cores.others, "", ""),
        ("raw", report["frames"]["raw"], "frames", "= 0"),
    ]
    return [
        Figure(SCENARIO, f"{case.name}: {name}", float(value), unit, bar) for name, value, unit, bar in rows
    ]


def _steps_of(passages: tuple[tuple[Passage, float, float], ...]) -> list[tuple[str, float, str, str]]:
    """What the server added, and how long each step of the way took; nothing if no passage is known."""
    if not passages:
        return []
    first, last = _BROWSER_STEPS
    table = np.array([(before, *passage.steps_ms, after) for passage, before, after in passages])
    columns = [("added by the server", table[:, 1:-1].sum(1))]
    columns += zip((first, *STEPS, last), table.T, strict=True)
    return [
        (f"{name} p{percent}", float(np.percentile(column, percent)), "ms", "")
        for name, column in columns
        for percent in (50, 95)
    ]
