"""Measures the way of a picture from a browser through LiveFusion and back, by a number burnt into it.

Needs Chromium and the extra webrtc: ``uv run --extra cpu --extra webrtc python tools/webrtc_bench.py``. The
round trip holds the browser's encoder and decoder; camera and screen are not in it. What the server adds is
its own delay, as the report has it: from the first packet of a picture to its hand-over to the encoder.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import livefusion.testing
from livefusion.core.geometry import Size
from livefusion.core.settings import Pace, Settings, WebSettings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.assemble import Parts, Pipeline
from livefusion.runtime.stage import StageContext
from livefusion.server.door import open_door
from livefusion.testing.browser import Browser
from livefusion.testing.webrtc import burn_number

PICTURES = 150
SETTLE_SECONDS = 5.0
SCRIPT = Path(livefusion.testing.__file__).with_name("round_trip.js")


def write_camera(path: Path, size: Size, face: int) -> None:
    """A camera's file of numbered pictures of the performer with a face of so many pixels; 0 for none."""
    uri = f"performer:?size={size}&fps=30" + (f"&face={face}" if face else "")
    source = PerformerSource(uri, CpuDevice(), pace=Pace.FAST)
    source.open(StageContext("camera", SystemClock()))
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{size.width} H{size.height} F30:1 Ip A1:1 C420jpeg\n".encode())
        for number in range(PICTURES):
            frame: Any = source.read()
            luma, chroma = np.array(frame.buffer.luma), np.array(frame.buffer.chroma)
            if not face:  # the backdrop alone, moved
                luma = np.roll(np.tile(luma[:, : size.width // 8], (1, 8)), 4 * number, 1)
                chroma = np.full_like(chroma, 128)
            luma = np.ascontiguousarray(luma)
            burn_number(luma, number)
            file.write(b"FRAME\n" + luma.tobytes())
            file.write(np.ascontiguousarray(chroma[..., 0]).tobytes())
            file.write(np.ascontiguousarray(chroma[..., 1]).tobytes())


def measure(camera: Path, size: Size, seconds: float) -> dict[str, Any]:
    """The figures of one run."""
    with open_door(WebSettings(port=0)) as door:
        settings = Settings(input="webrtc:", output=("webrtc:",), size=str(size), device="cpu")
        pipeline = Pipeline(settings, parts=Parts(exchange=door.exchange))
        pipeline.start()
        try:
            with Browser(camera) as browser:
                seen = watch(browser, door.page, size, seconds)
            report = pipeline.report()
        finally:
            pipeline.stop()
    return figures(seen, report)


def watch(browser: Browser, page: str, size: Size, seconds: float) -> dict[str, Any]:
    """Send and watch for so long; what the page's script noted."""
    browser.go(page.replace("127.0.0.1", "localhost"))
    browser.evaluate(f"document.getElementById('size').value = '{size}'")
    browser.evaluate("document.getElementById('start').click()")
    browser.wait_for("document.getElementById('result').videoWidth > 0", 120)
    browser.evaluate(SCRIPT.read_text(encoding="utf-8"))
    time.sleep(SETTLE_SECONDS)
    browser.evaluate("trips.reset()")
    time.sleep(seconds)
    seen: dict[str, Any] = browser.evaluate("trips.report()")
    return seen


def figures(seen: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """Percentiles in ms, and what goes with them."""
    times = np.array(seen["times"] or [np.nan])
    return {
        "round_trip_ms": {f"p{part}": round(float(np.percentile(times, part)), 1) for part in (50, 95, 100)},
        "pictures": len(seen["times"]),
        "unclear": seen["unclear"],
        "fps": {"sent": round(seen["sent"], 1), "back": round(seen["fps"], 1)},
        "sizes": seen["sizes"],
        "longest_gap_ms": round(seen["gap"]),
        "server_ms": report["latency_ms"]["residence"],
        "load": round(os.getloadavg()[0], 1),
    }


def main(words: Sequence[str]) -> int:
    """Measure what is asked for and print it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", default="1280x720", help="WxH, one of the page's sizes")
    parser.add_argument("--face", type=int, default=300, help="height of the face in pixels; 0 for no swap")
    parser.add_argument("--seconds", type=float, default=20.0)
    asked = parser.parse_args(words)
    width, height = map(int, asked.size.split("x"))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(KeyboardInterrupt):
        camera = Path(folder, "camera.y4m")
        write_camera(camera, Size(width, height), asked.face)
        print(json.dumps(measure(camera, Size(width, height), asked.seconds), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
