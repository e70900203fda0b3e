"""Sound against picture: a clip that flashes and beeps, by RTMP and the graph to file, RTMP and WebRTC."""

import secrets
import socket
import statistics
import threading
from concurrent.futures import ThreadPoolExecutor

from livefusion.cli.bench.child import run_child
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.geometry import Size
from livefusion.testing.beacon import skews, write_beacon
from livefusion.testing.publisher import publish
from livefusion.testing.whep import BeaconViewer, Watch

_SIZE, _FPS = Size(640, 360), 30
_LEAD_SECONDS = 20
"""How much longer the clip is than the run: the graph takes a while to begin."""


def measure(options: BenchOptions) -> list[Figure]:
    """Publish in real time; what is later than 45 ms is noticed by people."""
    seconds = round(options.seconds)
    clip = options.folder / f"beacon-{seconds}s.mp4"
    if not clip.exists():
        write_beacon(clip, _SIZE, _FPS, seconds + _LEAD_SECONDS)
    inlet, outlet = _url(), _url()
    recorded, done = options.folder / "sync.mp4", threading.Event()
    options.note(f"publishing for {seconds} s")
    port, token = _port(), secrets.token_urlsafe(12)
    viewer = BeaconViewer()
    watch = Watch(f"http://127.0.0.1:{port}/whep", token, viewer.received)
    with ThreadPoolExecutor(3) as threads:
        received = threads.submit(skews, outlet, {"listen": "1"})
        threads.submit(publish, clip, inlet, done)
        threads.submit(watch.run)
        arguments = ["-i", f"{inlet}?listen=1", "-o", str(recorded), "-o", outlet, "-o", "webrtc:"]
        arguments += ["--port", str(port), "--token", token]
        try:
            report = run_child(
                [*arguments, "--duration", str(seconds)], options.folder / "report.json"
            ).report
        finally:
            done.set()
            watch.end()
    dropped = Figure("sync", "dropped", sum(report["frames"]["dropped"].values()), "frames")
    found = {"file": skews(str(recorded)), "RTMP": received.result(), "WebRTC": viewer.skews()}
    return [dropped, *(figure for name, one in found.items() for figure in _figures(name, one))]


def _figures(name: str, found: list[float]) -> list[Figure]:
    """Signed median, its change over the run, and the largest distance of 95 of 100 flashes."""
    if not found:
        return [Figure(name, "flashes", 0, "", "> 0")]
    tenth = max(1, len(found) // 10)
    drift = statistics.median(found[-tenth:]) - statistics.median(found[:tenth])
    apart = sorted(abs(one) for one in found)
    return [
        Figure(name, "flashes", len(found), "", "> 0"),
        Figure(name, "sound after picture p50", 1000 * statistics.median(found), "ms"),
        Figure(name, "skew p95", 1000 * apart[min(len(apart) - 1, len(apart) * 95 // 100)], "ms", "< 45"),
        Figure(name, "skew max", 1000 * apart[-1], "ms"),
        Figure(name, "drift", 1000 * drift, "ms"),
    ]


def _url() -> str:
    return f"rtmp://127.0.0.1:{_port()}/live/sync"


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
