"""The whole graph on the CUDA device, with the host in the place of the GPU."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from livefusion.core.frame import Outcome, RenderedFrame
from livefusion.core.settings import Pace, Settings, SwapSettings
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sources.performer import PerformerSource
from livefusion.ops.reference.colour import GAIN_LIMITS
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.testing.host_twin import compiler
from livefusion.testing.mark import fixed_mark
from livefusion.testing.slow_clock import SlowClock
from livefusion.testing.twin_device import TwinDevice

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

FRAMES = 6
URI = "performer:?size=320x240&fps=30&face=100&seed=5"


class CountingSink(MemorySink):
    """Notes how often the device had taken memory by each picture."""

    def __init__(self, device: Device) -> None:
        super().__init__(device, limit=100)
        self._twin = device
        self.allocations: list[int] = []

    def write(self, item: RenderedFrame) -> None:
        super().write(item)
        if isinstance(self._twin, TwinDevice):
            self.allocations.append(self._twin.allocations)


def run(device: Device, frames: int, grain: float = 1.0) -> CountingSink:
    LIBRARY.filter_type()  # boxes rest where they are until it is imported: the first run would differ
    sinks: list[CountingSink] = []

    def make_sink(where: Device, form: OutputFormat) -> CountingSink:
        sinks.append(CountingSink(where))
        return sinks[0]

    def make_source(where: Device) -> PerformerSource:
        return PerformerSource(URI, where, pace=Pace.FAST, duration=frames / 30)

    settings = Settings(input=URI, pace=Pace.FAST, swap=SwapSettings(grain=grain))
    parts = Parts(device=device, source=make_source, sinks=[make_sink], clock=SlowClock(), mark=fixed_mark)
    pipeline = Pipeline(settings, parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    report = pipeline.report()
    assert report["device"]["name"] == device.name
    assert report["device"]["fallbacks"] == []
    return sinks[0]


@cache
def expected(grain: float) -> Sequence[KeptPicture]:
    return tuple(run(CpuDevice(), FRAMES, grain).pictures)


# A level by which patches are rounded otherwise is up to 1.25 in the picture; and grain turns a thousandth of
# a level of its strength into a level at one pixel in some hundred.
@pytest.mark.parametrize(("grain", "mean"), [(0.0, 0.0175 * GAIN_LIMITS[1]), (1.0, 0.08)])
def test_it_makes_the_pictures_that_the_cpu_makes(grain: float, mean: float) -> None:
    got = run(TwinDevice(), FRAMES, grain).pictures
    assert [one.outcome for one in got] == [Outcome.SWAPPED] * FRAMES
    for wanted, one in zip(expected(grain), got, strict=True):
        away = np.abs(wanted.luma.astype(int) - one.luma)
        # Rounding; and a few pixels on the edges of triangles, which fall to either side.
        assert away.mean() < mean
        assert (away > 2).mean() < 0.001
        assert np.abs(wanted.chroma.astype(int) - one.chroma).max() <= 8


def test_every_order_that_the_streams_allow_gives_the_same_bytes() -> None:
    calm = run(TwinDevice(), FRAMES).pictures
    for seed in range(3):
        for captures in (False, True):
            wild = run(TwinDevice(seed, captures=captures), FRAMES).pictures
            for wanted, got in zip(calm, wild, strict=True):
                assert np.array_equal(wanted.luma, got.luma), f"seed {seed}"
                assert np.array_equal(wanted.chroma, got.chroma), f"seed {seed}"


def test_a_warm_graph_takes_no_memory_and_replays_its_kernels() -> None:
    device = TwinDevice()
    taken = run(device, 40).allocations
    assert len(set(taken[24:])) == 1, taken
    assert device.cupy.calls["graphLaunch"] > 20
