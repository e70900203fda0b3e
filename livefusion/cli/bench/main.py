"""``livefusion bench``: measure what is promised, on this machine."""

import argparse
import math
import platform
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil

import livefusion
from livefusion.cli.bench.figure import Figure, table
from livefusion.cli.bench.options import BenchOptions
from livefusion.cli.console import Console
from livefusion.cli.json_output import json_target, write_json
from livefusion.cli.parser import CommandParser
from livefusion.core.errors import SettingsError
from livefusion.core.files import cannot_make, obstacle
from livefusion.core.words import did_you_mean

SCHEMA = "livefusion.bench/1"
SCENARIOS = {
    "live": "720p30 with a small and a large face, 1080p30 and 720p60, in real time into a file",
    "engine": "a swap network alone and all that is around it (only when named; --engine MODEL)",
    "families": "every family of swap networks against a known function (only when named; needs onnx)",
    "render": "processor time of swap and blend for a frame, with a small and a large face",
    "marks": "processor time of badge, watermark and notice for a frame",
    "runtime": "cost of the threads, and delay under overload",
    "startup": "time to the first swapped picture",
    "truth": "accuracy against a performer whose landmarks are known",
    "device": "the graph on a device that runs work late and disordered, without each of its waits in turn",
    "traffic": "bytes moved in the memory of a GPU for a 1080p frame (only when named; needs a C++ compiler)",
    "host": "time of our own code for a frame, kernels and networks replaced by nothing",
    "webrtc": "from a browser's camera through the graph and back (only when named; needs Chromium)",
    "sync": "sound against picture through RTMP and the graph to file, RTMP and WebRTC (only when named)",
    "streams": "delay that RTMP and MPEG-TS add, and a publisher that goes and comes back (only when named)",
    "outputs": "file, WebRTC, RTMP and vcam: at once, two of them hanging (only when named; needs gcc)",
    "faults": "stages that raise, stall and return late; panic",
    "soak": "memory over ten minutes (only when named)",
}
WORDS = {
    "residence": "milliseconds from the capture of a frame until an output is handed it",
    "with encoding": "the same until the output has written it",
    "p50, p95, p99": "half, 95 and 99 of 100 frames took no longer",
    "round trip": "from the browser's camera to its screen, by a number in the picture; neither is in it",
    "cores busy": "how many each kept busy; where others kept some, delays are theirs as well",
    "null stages": "stages that do nothing: what is left is the cost of threads and hand-overs",
    "slope": "how much the delay grows in a minute; of runs under 30 s it is not judged",
    "covered, raw": "frames with a blurred face, and frames that show the real one",
    "waits left out": "ordering that was taken away on purpose: each time the pictures or a race must tell",
    "cosine": "how alike two faces are to a recognition network, 1 is the same picture",
}
_NAMED = {"engine", "families", "outputs", "soak", "streams", "sync", "traffic", "webrtc"}
DEFAULT = tuple(name for name in SCENARIOS if name not in _NAMED)


def parser() -> CommandParser:
    """The parser of ``livefusion bench``."""
    scenarios = "\n".join(f"  {name:<8} {what}" for name, what in SCENARIOS.items())
    words = "\n".join(f"  {word:<13} {meaning}" for word, meaning in WORDS.items())
    made = CommandParser(
        "livefusion bench",
        "Measure what is promised, on this machine; leave it alone meanwhile.\n\n"
        f"scenarios:\n{scenarios}\n\nwords in the table:\n{words}",
        "livefusion bench live --seconds 20 --json figures.json",
    )
    made.add_argument(
        "scenarios", metavar="SCENARIO", nargs="*", help="which; left out, all but those to be named"
    )
    made.add_argument("--seconds", type=float, default=60.0, help="length of each live run (60)")
    made.add_argument("--faults", type=int, default=1000, help="faults to inject in all (1000)")
    made.add_argument("--seed", type=int, default=0, help="seed of clips and faults (0)")
    made.add_argument("--engine", default="", metavar="MODEL", help="swap network for the scenario engine")
    made.add_argument("--family", default="", help="its family, where its file fits several")
    made.add_argument("--whole", action="store_true", help="families: also through the whole graph")
    made.add_argument("--keep", type=Path, metavar="DIR", help="keep clips, outputs and contact sheets here")
    made.add_argument("--json", type=json_target, metavar="FILE", help="write the figures as JSON, - stdout")
    return made


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Measure and print the table; exit status 1 if a bar was missed."""
    names = _chosen(arguments.scenarios)
    if not 0 < arguments.seconds < math.inf or arguments.faults < 1:
        raise SettingsError("there is nothing to measure", "--seconds and --faults are more than 0")
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="livefusion-bench-") as scratch:
        folder = arguments.keep or Path(scratch)
        _make_folder(folder)
        options = BenchOptions(
            arguments.seconds,
            arguments.faults,
            arguments.seed,
            folder,
            console.note,
            keep=bool(arguments.keep),
            engine=arguments.engine,
            family=arguments.family,
            whole=arguments.whole,
        )
        for name in names:
            figures += import_module(f"livefusion.cli.bench.{name}").measure(options)
    if str(arguments.json) != "-":
        console.result(table(figures))
    if arguments.json:
        write_json(arguments.json, _document(figures, options), console)
    return int(any(figure.passed is False for figure in figures))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_make(folder, error) from error
    if problem := obstacle(folder / "clip.mp4"):
        raise problem


def _chosen(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in SCENARIOS:
            raise SettingsError(
                f"there is no scenario {name}", did_you_mean(name, SCENARIOS) or f"use {', '.join(SCENARIOS)}"
            )
    return tuple(names) or DEFAULT


def _document(figures: list[Figure], options: BenchOptions) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": livefusion.__version__,
        "machine": {
            "cpu": platform.processor() or platform.machine(),
            "cores": psutil.cpu_count(),
            "memory_mb": psutil.virtual_memory().total // 2**20,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "seconds": options.seconds,
        "seed": options.seed,
        "figures": [figure.to_json() for figure in figures],
    }
