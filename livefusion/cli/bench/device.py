"""The same graph on a device that runs work late and disordered: same pixels, no race, no idle wait."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.errors import LiveFusionError
from livefusion.core.settings import Pace, Settings
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sources.performer import PerformerSource
from livefusion.pipeline.assemble import Parts, Pipeline
from livefusion.testing.simdevice import SimDevice
from livefusion.testing.slow_clock import SlowClock

SEEDS = 50
FRAMES = 6
_URI = "performer:?size=320x240&fps=30&face=100"


@dataclass(frozen=True, slots=True)
class SimRun:
    """What came of one run on a simulated device."""

    pictures: Sequence[KeptPicture]
    races: tuple[str, ...]
    waits: int
    error: str = ""


def measure(options: BenchOptions) -> list[Figure]:
    """Fifty seeds, and then each single wait left out in turn."""
    options.note(f"device: {SEEDS} seeds of {FRAMES} frames")
    expected = run_graph(CpuDevice(), options.seed)
    runs = [run_simulated(seed, options.seed) for seed in range(SEEDS)]
    dropped: list[SimRun] = []
    # Their number differs a little from run to run, because slots of memory come back when threads let go.
    while (run := run_simulated(len(dropped), options.seed, len(dropped))).waits > len(dropped):
        options.note(f"without wait {len(dropped)}: {run.races[0] if run.races else 'no race'}")
        dropped.append(run)
    identical = sum(same(run.pictures, expected) for run in runs)
    return [
        Figure("device", "seeds identical", identical, "", f"= {SEEDS}"),
        Figure("device", "races", sum(len(run.races) for run in runs), "", "= 0"),
        Figure("device", "waits left out in turn", len(dropped), "", "> 0"),
        Figure("device", "races named", sum(bool(run.races) for run in dropped), "", f"= {len(dropped)}"),
    ]


def run_simulated(seed: int, performer: int, drop_wait: int | None = None, frames: int = FRAMES) -> SimRun:
    """Run the graph on a ``SimDevice``; a fault that a lost wait leads to is told as ``error``.

    What the host has waited for does not count between streams: with it, most waits could go unnoticed.
    """
    device = SimDevice(seed, drop_wait=drop_wait, host_orders=False)
    pictures: Sequence[KeptPicture] = ()
    error = ""
    try:
        pictures = run_graph(device, performer, frames)
    except LiveFusionError as fault:
        error = str(fault)
    return SimRun(pictures, tuple(str(race) for race in device.races), device.waits, error)


def run_graph(device: Device, performer: int, frames: int = FRAMES) -> Sequence[KeptPicture]:
    """The pictures that the whole graph makes of the performer; her motion is that of seed ``performer``."""
    # Boxes rest where they are while the motion model is imported beside: the first run would differ.
    LIBRARY.filter_type()
    uri, sinks = f"{_URI}&seed={performer}", list[MemorySink]()

    def make_sink(where: Device, form: OutputFormat) -> MemorySink:
        sinks.append(MemorySink(where))
        return sinks[0]

    def make_source(where: Device) -> PerformerSource:
        return PerformerSource(uri, where, pace=Pace.FAST, duration=frames / 30)

    # The detector decides in the first frame; a simulated device takes longer than the 6 ms it is given.
    parts = Parts(device=device, source=make_source, sinks=[make_sink], clock=SlowClock())
    pipeline = Pipeline(Settings(input=uri, pace=Pace.FAST), parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    return list(sinks[0].pictures)


def same(first: Sequence[KeptPicture], second: Sequence[KeptPicture]) -> bool:
    """Whether two runs gave the same pictures, byte for byte, with the same outcomes."""
    return len(first) == len(second) and all(
        one.outcome is other.outcome
        and np.array_equal(one.luma, other.luma)
        and np.array_equal(one.chroma, other.chroma)
        for one, other in zip(first, second, strict=True)
    )
