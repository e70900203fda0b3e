"""The CUDA device is lost, or has no memory, at one call after another; a recording is made beside."""

import math
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from livefusion.core.errors import DeviceError, LiveFusionError
from livefusion.core.frame import Outcome
from livefusion.core.settings import Pace, Settings
from livefusion.devices.device import Device
from livefusion.faces.kalman import LIBRARY
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.file import FileSink
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.testing.court import threads_left
from livefusion.testing.host_cupy import HostCupy
from livefusion.testing.host_twin import compiler
from livefusion.testing.injections import Reels
from livefusion.testing.judge import JudgeSink
from livefusion.testing.mark import no_mark
from livefusion.testing.media import decode_clip
from livefusion.testing.nvcodec import stand_in_codecs
from livefusion.testing.reel import Reel
from livefusion.testing.reel_source import ReelSource
from livefusion.testing.slow_clock import SlowClock
from livefusion.testing.twin_device import TwinDevice

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]

FRAMES = 8
CALLS = 1500
"""Calls of CUDA in a run, about."""
OUT_OF_MEMORY = 2


class LosingLock:
    """Loses the GPU of a stand-in for CuPy at the ``number``-th call of CUDA, whose lock it is."""

    def __init__(self, cupy: HostCupy, number: float) -> None:
        self._cupy = cupy
        self._lock = cupy.lock
        self._left = number

    def __enter__(self) -> None:
        self._lock.acquire()
        self._left -= 1
        if self._left <= 0:
            self._cupy.lose()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass
class Show:
    """What came of a run."""

    report: dict[str, Any]
    judge: JudgeSink | None
    pictures: int
    threads: list[str]
    error: LiveFusionError | None

    @property
    def steps(self) -> list[str]:
        return [one["got"] for one in self.report["device"]["fallbacks"]]

    def require_whole(self) -> None:
        assert self.error is None
        assert self.judge is not None
        assert self.judge.raw == []
        assert self.judge.out_of_order == 0
        assert self.judge.stats.frames == FRAMES
        assert self.judge.outcomes[Outcome.RAW] == self.report["frames"]["raw"] == 0
        assert [one["errors"] for one in self.report["outputs"]] == [[], []]
        assert [one["frames"] for one in self.report["outputs"]] == [FRAMES, FRAMES]
        assert self.pictures == FRAMES
        assert self.threads == []


def play(
    device: TwinDevice, reel: Reel, path: Path, *, nvenc: bool, lost_at: float = math.inf, asked: str = "auto"
) -> Show:
    LIBRARY.filter_type()  # else a thread of its own may still be importing it at the end
    before = set(threading.enumerate())
    source, judges = ReelSource(device, reel, FRAMES), list[JudgeSink]()
    device.cupy.lock = LosingLock(device.cupy, lost_at)  # type: ignore[assignment]

    def judge(where: Device, form: OutputFormat) -> JudgeSink:
        judges.append(JudgeSink(where, source))
        return judges[-1]

    def record(where: Device, form: OutputFormat) -> FileSink:
        codecs = stand_in_codecs(where) if nvenc and where is device else None
        return FileSink(path, where, form, codecs=codecs)

    parts = Parts(
        device=device,
        source=lambda _: source,
        sinks=[judge, record],
        clock=SlowClock(50),
        mark=no_mark,
    )
    pipeline = Pipeline(Settings(input="reel:", pace=Pace.FAST, device=asked), parts=parts)
    error = None
    try:
        pipeline.start()
        assert pipeline.wait(60), "it hangs"
    except LiveFusionError as fault:
        error = fault
    finally:
        pipeline.stop()
    pictures = len(decode_clip(path)) if path.exists() else 0
    return Show(pipeline.report(), judges[0] if judges else None, pictures, threads_left(before), error)


@pytest.mark.parametrize("nvenc", [True, False])
def test_wherever_it_is_lost_both_outputs_are_whole(nvenc: bool, reels: Reels, tmp_path: Path) -> None:
    for number in range(1, CALLS, 293):
        show = play(TwinDevice(), reels.here, tmp_path / f"{number}.mp4", nvenc=nvenc, lost_at=number)
        show.require_whole()
        assert show.steps[0] == "cpu", f"lost at call {number}"
        assert show.report["device"]["name"] == "cpu"


@pytest.mark.parametrize("call", ["mallocAsync", "hostAlloc"])
@pytest.mark.parametrize("nvenc", [True, False])
def test_whatever_it_has_no_memory_for_both_outputs_are_whole(
    nvenc: bool, call: str, reels: Reels, tmp_path: Path
) -> None:
    for number in range(2, 13, 5):
        device = TwinDevice()
        device.cupy.fail(call, OUT_OF_MEMORY, number)
        show = play(device, reels.here, tmp_path / f"{number}.mp4", nvenc=nvenc)
        show.require_whole()
        assert show.steps[0] in {"twin with memory freed", "x264"}
        assert show.report["device"]["name"] == "twin"


@pytest.mark.parametrize("number", [1, 40, 100])
def test_asked_for_by_name_and_lost_at_the_start_it_says_so(
    number: int, reels: Reels, tmp_path: Path
) -> None:
    show = play(TwinDevice(), reels.here, tmp_path / "out.mp4", nvenc=True, lost_at=number, asked="cuda")
    assert isinstance(show.error, DeviceError)
    assert show.error.exit_status == 3
    assert "\n" not in str(show.error)
    assert show.threads == []
