"""One input to a file, WebRTC, RTMP and a virtual camera at once, two of which hang for a while, in turn.

RTMP hangs because its server takes nothing any more, the virtual camera inside its driver. The others are to
go on meanwhile as before, every picture is to be encoded once, and memory is to stay flat.
"""

import secrets
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

import numpy as np

from livefusion.cli.bench.child import ChildRun, run_child
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.live import CASES, clip
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.errors import MachineError
from livefusion.testing.loopback import DEVICE, LoopbackWrite, build_loopback, loopback_environment, read_log
from livefusion.testing.rtmp_server import RtmpServer, Visits, tail_of, tails_in
from livefusion.testing.whep import Received, WhepViewer

SCENARIO = "outputs"
_CASE = CASES[0]
_LONGEST_HANG = 60.0
_FEWEST_SAMPLES, _SLOPE_SECONDS = 4, 240.0
_WARM_SECONDS = 2.0
_SETTLED = 0.2
"""Share of the run after which memory is looked at: until then caches fill."""
_CATCH_UP_SECONDS = 7.0
"""An output that hung is given this long: the connection is lost after five, and tried again within two."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """When an output's consumer got pictures, in seconds of one clock."""

    name: str
    times: Sequence[float]

    def within(self, window: tuple[float, float]) -> list[float]:
        """Those in a window."""
        return [one for one in self.times if window[0] <= one < window[1]]

    def rate(self, window: tuple[float, float]) -> float:
        """Pictures a second in a window."""
        return len(self.within(window)) / max(window[1] - window[0], 1e-9)


@dataclass(frozen=True, slots=True)
class Hang:
    """Which output hung, and when."""

    name: str
    window: tuple[float, float]


def measure(options: BenchOptions) -> list[Figure]:
    """Run for ``options.seconds``. ``MachineError`` without gcc, ``DriverError`` without the extras."""
    source = clip(_CASE, options.seconds, options)
    library, log = build_loopback(options.folder), options.folder / "vcam.log"
    log.unlink(missing_ok=True)
    hang = min(options.seconds / 5, _LONGEST_HANG)
    fault = f"hang@{round(0.6 * options.seconds * _CASE.fps)}+{round(hang)}"
    rtmp, port, token = f"rtmp://127.0.0.1:{_free_port()}/live/bench", _free_port(), secrets.token_urlsafe(12)
    recording = options.folder / "outputs.mp4"
    arguments = ["-i", str(source), "--pace", "realtime", "--port", str(port), "--token", token]
    for output in (str(recording), "webrtc:", rtmp, f"vcam:{DEVICE}"):
        arguments += ["-o", output]
    _warm_up(source, recording)
    options.note(f"running {_CASE.name} into four outputs for {options.seconds:g} s")
    watched = Watched()
    with (
        RtmpServer(rtmp, hang_after=0.2 * options.seconds, hang_seconds=hang) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        watching = threads.submit(watched.watch, f"http://127.0.0.1:{port}/whep", token)
        try:
            run = run_child(
                arguments,
                options.folder / "report.json",
                environment=loopback_environment(library, Path("/dev/null"), fault=fault, log=log),
            )
        finally:
            watched.end()
        watching.result()
    figures = _figures(run, watched, server.visits, read_log(log), recording)
    if not options.keep:
        recording.unlink()
    return figures


def _warm_up(source: Path, recording: Path) -> None:
    """Have everything compiled: that took 40 to 230 s of a run here, in which memory grew by 40 MiB/min."""
    arguments = [
        "-i",
        str(source),
        "--pace",
        "fast",
        "--duration",
        f"{_WARM_SECONDS:g}",
        "-o",
        str(recording),
    ]
    run_child(arguments, recording.with_suffix(".json"))


class Watched:
    """A viewer by WHEP, from when the server is there to the end of the run."""

    def __init__(self) -> None:
        self.pictures: list[tuple[int, bytes]] = []
        self._ended = False

    def watch(self, url: str, token: str) -> None:
        """Watch until ``end``; nothing is noted if the server never comes."""
        received = Received(lambda _, data: self.pictures.append((time.monotonic_ns(), tail_of(data))))
        while not self._ended:
            try:
                with WhepViewer(url, token, received):
                    while not self._ended:
                        time.sleep(0.2)
            except OSError:  # the server is not there yet
                time.sleep(0.1)

    @property
    def times_ns(self) -> dict[bytes, int]:
        """When each picture came, by its last bytes.

        Repeats of a picture may be equal to the byte, minutes apart: what came twice is left out.
        """
        often = Counter(tail for _, tail in self.pictures)
        return {tail: at for at, tail in self.pictures if often[tail] == 1}

    def end(self) -> None:
        """Watch no more."""
        self._ended = True


def _figures(
    run: ChildRun, watched: Watched, visits: Visits, camera: Sequence[LoopbackWrite], recording: Path
) -> list[Figure]:
    """The rows; all times are seconds of the monotonic clock."""
    outputs = _arrivals(watched, visits, camera, recording)
    hangs = _hangs(visits, camera)
    first, last = min(one.times[0] for one in outputs), max(one.times[-1] for one in outputs)
    report, frames = run.report, run.report["frames"]
    rows: list[tuple[str, float, str, str]] = [
        ("seconds", last - first, "s", ""),
        ("outputs that hung", len(hangs), "", "= 2"),
        ("captured", frames["captured"], "frames", ""),
        ("dropped before the outputs", sum(frames["dropped"].values()), "frames", ""),
        ("raw faces", frames["raw"], "pictures", "= 0"),
        ("encoders opened", report["encoders"], "", "= 1"),
        ("cores", report["cpu"]["cores"], "", ""),
        *_memory(run),
    ]
    for one, told in zip(outputs, report["outputs"], strict=True):
        rows += _of_output(one, told, hangs, (first, last))
    for hang in hangs:
        rows += _meanwhile(hang, outputs, first)
    rows += _behind(watched, visits)
    return [Figure(SCENARIO, *row) for row in rows]


def _arrivals(
    watched: Watched, visits: Visits, camera: Sequence[LoopbackWrite], recording: Path
) -> list[Arrivals]:
    """In the order of the outputs. Nobody sees when the file got a picture: it is when WebRTC did."""
    rtmp = [at / 1e9 for at, _ in visits.arrivals]
    webrtc = [at / 1e9 for at, _ in watched.pictures]
    vcam = sorted(one.at_ns / 1e9 for one in camera if one.taken > 0)
    seen = watched.times_ns
    file = [seen[tail] / 1e9 for tail in tails_in(recording) if tail in seen]
    if not (rtmp and webrtc and vcam and file):
        raise MachineError("an output got no picture", "close other programs and measure again")
    named = {"file": file, "WebRTC": webrtc, "RTMP": rtmp, "virtual camera": vcam}
    return [Arrivals(name, times) for name, times in named.items()]


def _hangs(visits: Visits, camera: Sequence[LoopbackWrite]) -> list[Hang]:
    hangs = []
    if visits.hung_ns is not None:
        began, ended = visits.hung_ns
        hangs.append(Hang("RTMP", (began / 1e9, ended / 1e9)))
    began_ns = next((one.at_ns for one in camera if one.taken == 0), None)
    if began_ns is not None:
        # The first picture of the one that takes its place ends it.
        after = min((one.at_ns for one in camera if one.at_ns > began_ns), default=began_ns)
        hangs.append(Hang("virtual camera", (began_ns / 1e9, after / 1e9)))
    return hangs


def _memory(run: ChildRun) -> list[tuple[str, float, str, str]]:
    end = run.memory[-1][0] if run.memory else 0.0
    settled = [(seconds / 60, mib) for seconds, mib in run.memory if seconds > _SETTLED * end]
    if len(settled) < _FEWEST_SAMPLES:
        return []
    slope = linear_regression(*zip(*settled, strict=True)).slope
    is_short = end < _SLOPE_SECONDS
    name = f"resident memory, slope{' (run too short to judge)' if is_short else ''}"
    return [
        (name, slope, "MiB/min", "" if is_short else "≤ 1"),
        ("resident memory at the end", settled[-1][1], "MiB", ""),
    ]


def _of_output(
    one: Arrivals, told: dict[str, Any], hangs: Sequence[Hang], whole: tuple[float, float]
) -> list[tuple[str, float, str, str]]:
    own = [hang.window for hang in hangs if hang.name == one.name]
    away = sum(later - earlier + _CATCH_UP_SECONDS for earlier, later in own)
    inside = sum(len(one.within((earlier, later + _CATCH_UP_SECONDS))) for earlier, later in own)
    rate = (len(one.times) - inside) / (whole[1] - whole[0] - away)
    return [
        (f"{one.name}: pictures, but for its own hang", rate, "fps", ""),
        (f"{one.name}: residence p95", told["latency_ms"]["residence"]["p95"], "ms", ""),
        (f"{one.name}: with writing p95", told["latency_ms"]["written"]["p95"], "ms", ""),
        (f"{one.name}: opened again", told["reconnects"], "times", ""),
        (f"{one.name}: errors told", len(told["errors"]), "", ""),
        (f"{one.name}: raw faces", told["raw"], "pictures", "= 0"),
    ]


def _meanwhile(hang: Hang, outputs: Sequence[Arrivals], first: float) -> list[tuple[str, float, str, str]]:
    """How the others fared while one hung, beside as long a time before."""
    began, ended = hang.window
    before = (max(first, began - (ended - began)), began)
    rows = []
    for one in outputs:
        if one.name != hang.name:
            share = 100 * one.rate(hang.window) / max(one.rate(before), 1e-9)
            gaps = np.diff([began, *one.within(hang.window), ended])
            name = f"while {hang.name} hangs: {one.name}"
            rows.append((f"{name}, pictures, of those before", share, "%", "≥ 90"))
            rows.append((f"{name}, longest gap", 1000 * float(gaps.max(initial=0.0)), "ms", ""))
    return [(f"{hang.name} hung", ended - began, "s", ""), *rows]


def _behind(watched: Watched, visits: Visits) -> list[tuple[str, float, str, str]]:
    """How much later RTMP's server gets the same picture than the viewer of WebRTC: known by its bytes."""
    if visits.hung_ns is None:
        return []
    seen = watched.times_ns
    began, ended = visits.hung_ns
    pairs = [(at, (at - seen[tail]) / 1e6) for at, tail in visits.arrivals if tail in seen]
    before = [late for at, late in pairs if at < began]
    after = [late for at, late in pairs if at > ended + _CATCH_UP_SECONDS * 1e9]
    rows = [("RTMP behind WebRTC before it hung", before), ("RTMP behind WebRTC afterwards", after)]
    return [(name, median(late), "ms", "≤ 100" if late is after else "") for name, late in rows if late]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
