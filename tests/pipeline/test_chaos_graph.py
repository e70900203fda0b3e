"""The whole graph while things go wrong, seen by a sink that compares it with the source byte for byte."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.settings import MissingFacePolicy, SafetySettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.runtime.stage import StageContext
from livefusion.testing.chaos_run import Script, draw_script, run_chaos
from livefusion.testing.injections import INJECTIONS, Reels
from livefusion.testing.judge import JudgeSink
from livefusion.testing.panic_run import run_panics
from livefusion.testing.reel import Shot

pytestmark = pytest.mark.chaos


def each_once() -> Script:
    """Every injection once; the sinks' and the source's own come with any script."""
    return [*INJECTIONS.items(), *draw_script(random.Random(0), 0)]


def test_no_fault_shows_a_face(reels: Reels) -> None:
    result = run_chaos(reels, each_once(), seed=1, fps=30)  # leaves a busy machine room
    assert result.raw == []
    assert result.outcomes[Outcome.RAW] == 0
    assert result.out_of_order == 0
    assert result.threads_left == []
    assert result.unrecovered == []
    assert set(INJECTIONS) | {"sink raises", "sink stalls", "source raises"} <= set(result.struck)
    assert result.outcomes[Outcome.SWAPPED] > 100
    assert result.outcomes[Outcome.SAFE] > 10


def test_judge_sees_what_the_policy_lets_pass(reels: Reels) -> None:
    script = [("landmarks blind", INJECTIONS["landmarks blind"])]
    safety = SafetySettings(on_missing_face=MissingFacePolicy.PASS)
    result = run_chaos(reels, script, seed=2, safety=safety, fps=30)
    assert result.outcomes[Outcome.RAW] > 0
    assert len(result.raw) >= result.outcomes[Outcome.RAW] * 0.9
    assert result.raw[-1].share > 0.9


def test_panic_shows_the_slate_while_a_stage_hangs(reels: Reels) -> None:
    assert len(run_panics(reels, 2, seed=4)) == 2


class OneShotCamera:
    """Knows one picture."""

    trouble = "none"

    def __init__(self, shot: Shot) -> None:
        self.shot = shot

    def shots(self, captured_ns: int) -> Sequence[Shot]:
        return [self.shot]

    def took(self, captured_ns: int) -> bool:
        return True


@pytest.mark.parametrize(
    ("shown", "seqs", "raw", "out_of_order"),
    [
        pytest.param(10, [0, 1], 2, 0, id="the very picture is a leak"),
        pytest.param(12, [0, 1], 0, 0, id="another picture of the same face is not the source's"),
        pytest.param(12, [1, 1], 0, 1, id="a number twice is out of order"),
        pytest.param(12, [2, 1], 0, 1, id="a number that falls is out of order"),
    ],
)
def test_judge_can_condemn(reels: Reels, shown: int, seqs: list[int], raw: int, out_of_order: int) -> None:
    device, reel = CpuDevice(), reels.here
    judge = JudgeSink(device, OneShotCamera(reel.at(10)))
    judge.open(StageContext("judge", SystemClock()))
    pool, stream = FramePool(device, reel.size), device.stream("test")
    for at_ns, seq in enumerate(seqs, start=1):
        buffer = pool.acquire(stream)
        device.copy(buffer.luma, reel.at(shown).luma, stream)
        device.copy(buffer.chroma, reel.at(shown).chroma, stream)
        ts = Timestamp(at_ns, Fraction(1, 30))
        frame = Frame(seq, "test", ts, at_ns, reel.size, reel.color, buffer)
        judge.write(RenderedFrame(frame, Outcome.SWAPPED))
    assert (len(judge.raw), judge.out_of_order) == (raw, out_of_order)
