"""Two runs in one process, on one CUDA device or on two, with the host in the place of the GPU."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from livefusion.core.errors import DeviceLostError, LiveFusionError
from livefusion.core.settings import Pace, Settings
from livefusion.devices.device import Device
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.testing.host_twin import compiler
from livefusion.testing.injections import Reels
from livefusion.testing.mark import no_mark
from livefusion.testing.reel import Reel
from livefusion.testing.reel_source import ReelSource
from livefusion.testing.slow_clock import SlowClock
from livefusion.testing.twin_device import TwinDevice

pytestmark = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

FRAMES = 8


class StartingSink(MemorySink):
    """Calls back at its third picture."""

    def __init__(self, device: Device, call: Any) -> None:
        super().__init__(device)
        self._call = call

    def write(self, item: Any) -> None:
        super().write(item)
        if self.stats.frames == 3:
            self._call()


@dataclass
class Show:
    """What came of a run."""

    pictures: list[KeptPicture]
    report: dict[str, Any]
    error: LiveFusionError | None

    @property
    def device(self) -> str:
        return str(self.report["device"]["name"])


def play(
    device: TwinDevice,
    reel: Reel,
    *,
    asked: str = "auto",
    begin: Any = lambda: None,
    third: Any = lambda: None,
    stops: bool = False,
) -> Show:
    LIBRARY.filter_type()  # boxes rest where they are until it is imported: the first run would differ
    sinks: list[StartingSink] = []
    enough = threading.Event()

    def sink(where: Device, form: OutputFormat) -> StartingSink:
        sinks.append(StartingSink(where, lambda: (third(), enough.set())))
        return sinks[-1]

    source = ReelSource(device, reel, FRAMES)
    parts = Parts(device=device, source=lambda _: source, sinks=[sink], clock=SlowClock(50), mark=no_mark)
    pipeline = Pipeline(Settings(input="reel:", pace=Pace.FAST, device=asked), parts=parts)
    error = None
    try:
        begin()
        pipeline.start()
        assert enough.wait(60) if stops else pipeline.wait(60), "it hangs"
    except LiveFusionError as fault:
        error = fault
    finally:
        pipeline.stop()
    return Show(list(sinks[0].pictures) if sinks else [], pipeline.report(), error)


def together(*runs: Any) -> list[Show]:
    """Runs on threads of their own that start at the same time."""
    barrier = threading.Barrier(len(runs))
    with ThreadPoolExecutor(len(runs)) as pool:
        return [future.result() for future in [pool.submit(run, begin=barrier.wait) for run in runs]]


def same(first: list[KeptPicture], second: list[KeptPicture]) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(one.luma, other.luma) and np.array_equal(one.chroma, other.chroma)
        for one, other in zip(first, second, strict=True)
    )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_each_gives_what_it_gives_alone(seed: int | None, shared: bool, reels: Reels) -> None:
    alone = play(TwinDevice(), reels.here).pictures
    first = TwinDevice(seed)
    second = first if shared else TwinDevice(seed)
    shows = together(partial(play, first, reels.here), partial(play, second, reels.here))
    assert [one.error for one in shows] == [None, None]
    assert all(same(alone, one.pictures) for one in shows)


def test_one_that_stops_leaves_the_other_alone(reels: Reels) -> None:
    alone = play(TwinDevice(), reels.here).pictures
    device = TwinDevice()
    stopped, whole = together(
        partial(play, device, reels.here, stops=True), partial(play, device, reels.here)
    )
    assert len(stopped.pictures) >= 3
    assert same(alone, whole.pictures)


@pytest.mark.parametrize("shared", [True, False])
def test_the_loss_of_a_device_moves_those_on_it(shared: bool, reels: Reels) -> None:
    lost = TwinDevice()
    other = lost if shared else TwinDevice()
    shows = together(partial(play, lost, reels.here, third=lost.cupy.lose), partial(play, other, reels.here))
    assert [one.error for one in shows] == [None, None]
    assert [len(one.pictures) for one in shows] == [FRAMES, FRAMES]
    assert [one.report["frames"]["raw"] for one in shows] == [0, 0]
    assert shows[0].device == "cpu"
    assert shared or shows[1].device == "twin"


@pytest.mark.parametrize("asked", ["auto", "cuda"])
def test_a_run_on_a_device_that_was_lost_before(asked: str, reels: Reels) -> None:
    device = TwinDevice()
    play(device, reels.here, third=device.cupy.lose)
    show = play(device, reels.here, asked=asked)
    if asked == "cuda":
        assert isinstance(show.error, DeviceLostError)
        assert show.error.exit_status == 3
        return
    assert show.error is None
    assert show.device == "cpu"
    assert len(show.pictures) == FRAMES
    (fallback,) = show.report["device"]["fallbacks"]
    assert (fallback["wanted"], fallback["got"]) == ("twin", "cpu")
    assert "was lost" in fallback["reason"]
