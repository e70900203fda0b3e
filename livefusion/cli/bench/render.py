"""Processor time of the render stage on one thread, the faces given: what the picture itself costs."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.face import AnalysedFrame, FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import make_occlusion
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.testing.reel import Reel, Shot, draw_reel


@dataclass(frozen=True, slots=True)
class Case:
    """A height of the face at 1280x720, and the bar of its 95th percentile."""

    face: int
    bar: str = ""


CASES = (Case(170), Case(450, "≤ 10"))
_SHOTS, _WARM_UP, _FRAMES = 40, 20, 300


def measure(options: BenchOptions) -> list[Figure]:
    """Every case in turn. Processor time is told: other programs disturb it little."""
    figures = []
    for case in CASES:
        options.note(f"render: {_FRAMES} frames with a face of {case.face} pixels")
        performer = PerformerOptions.parse(f"performer:?face={case.face}&seed={options.seed}")
        spent = measure_render(draw_reel(performer, _SHOTS), _WARM_UP, _FRAMES) / 1e6
        for percentile, bar in ((50, ""), (95, case.bar), (99, "")):
            value = round(float(np.percentile(spent, percentile)), 3)
            figures.append(Figure(f"render, face {case.face}", f"p{percentile}", value, "ms", bar))
    return figures


def measure_render(reel: Reel, warm_up: int, frames: int) -> npt.NDArray[np.float64]:
    """(frames,) nanoseconds of this thread's processor time for each frame, after ``warm_up`` others."""
    device = CpuDevice()
    plan = RenderPlan(IdentityLibrary().load(""), SwapSettings(), SafetySettings())
    occlusion = make_occlusion(device, Networks(device))
    stage = RenderStage(device, MeshEngine(device), lambda: plan, SlateShelf(device), occlusion=occlusion)
    stage.open(StageContext("render", SystemClock()))
    pool, stream = FramePool(device, reel.size), device.stream("source")
    spent = np.empty(warm_up + frames)
    for seq in range(warm_up + frames):
        shot = reel.at(seq)
        buffer = pool.acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        stamp = Timestamp(seq, 1 / PerformerOptions().fps)
        frame = Frame(seq, "reel", stamp, 0, reel.size, reel.color, buffer)
        item = AnalysedFrame(frame, _tracks(shot))
        start = time.thread_time_ns()
        stage.process(item)
        spent[seq] = time.thread_time_ns() - start
    stage.close()
    return spent[warm_up:]


def _tracks(shot: Shot) -> tuple[FaceTrack, ...]:
    return tuple(
        FaceTrack(truth.person, TrackState.SEEN, truth.box, truth.landmarks, age=99, quality=1.0)
        for truth in shot.truths
    )
