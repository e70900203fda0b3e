"""What a swap network costs, and what is around it: processor time of one thread, the faces given."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from livefusion.blend.blender import Blender
from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.core.face import AnalysedFrame, FaceTrack, TrackState
from livefusion.core.frame import Frame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Array, Stream
from livefusion.devices.pool import FramePool
from livefusion.faces.build import Networks
from livefusion.faces.landmarks import Landmarker
from livefusion.faces.roi import Roi
from livefusion.inference.catalog import ModelFile, find_model, find_of_family
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.pipeline.stages import make_occlusion
from livefusion.runtime.stage import StageContext
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.neural.source import FindModel
from livefusion.testing.reel import Reel, Shot, draw_reel

Milliseconds = npt.NDArray[np.float64]

_SHOTS, _WARM_UP, _FRAMES, _SLOW_FRAMES = 20, 10, 200, 3
_SLOW_MS = 300.0
"""A network that takes longer is run a few times only."""


@dataclass(frozen=True, slots=True)
class Case:
    """A height of the face in a picture, and the bars of the whole overhead and of the swap step, in ms."""

    face: int
    size: str
    overhead: str = ""
    step: str = ""


CASES = (
    Case(170, "1280x720", overhead="≤ 8"),
    Case(450, "1280x720", overhead="≤ 8", step="≤ 1.3"),
    Case(860, "1920x1080", step="≤ 8"),
)


class TimedDevice(CpuDevice):
    """Notes the processor time of all threads that networks take, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.spent: dict[str, int] = {}

    def run(
        self,
        work: Callable[[], None],
        stream: Stream,
        *,
        reads: tuple[Array, ...],
        writes: tuple[Array, ...],
        name: str,
    ) -> None:
        """Run the work now."""
        begun = time.process_time_ns()
        work()
        self.spent[name] = self.spent.get(name, 0) + time.process_time_ns() - begun


@dataclass(slots=True, eq=False)
class Spent:
    """Milliseconds of each frame: of everything, of the swap network, and of the swap step without it."""

    whole: list[float] = field(default_factory=list)
    network: list[float] = field(default_factory=list)

    @property
    def around(self) -> Milliseconds:
        """What is not the network's."""
        return np.asarray(np.array(self.whole) - np.array(self.network), np.float64)


def measure(options: BenchOptions) -> list[Figure]:
    """The model of ``--engine``, else a small stand-in, which needs the package ``onnx``."""
    model, find = _model(options)
    figures: list[Figure] = []
    for case in CASES:
        options.note(f"engine: {model.name} on a face of {case.face} pixels in {case.size}")
        performer = PerformerOptions.parse(
            f"performer:?face={case.face}&size={case.size}&seed={options.seed}"
        )
        figures += _figures(case, model, find, draw_reel(performer, _SHOTS))
        if figures[0].value > _SLOW_MS:
            break  # what is around it is told better with a small one
    return figures


def _model(options: BenchOptions) -> tuple[ModelFile, FindModel]:
    if options.engine:
        return find_model(options.engine, family=options.family), find_of_family
    from livefusion.testing.standins.check import StandinFolder
    from livefusion.testing.standins.truth import truth

    folder, small = StandinFolder(options.folder), truth("inswapper_128")
    return folder.swap(small), folder.finder(small)


def _figures(case: Case, model: ModelFile, find: FindModel, reel: Reel) -> list[Figure]:
    device = TimedDevice()
    engine = NeuralEngine(device, model, find=find)
    whole = whole_frames(device, engine, reel)
    step = swap_steps(device, engine, reel)
    network, everything = float(np.median(whole.network)), float(np.median(whole.whole))
    small = network < _SLOW_MS
    name = f"{model.name}, face {case.face} in {case.size}"
    return [
        Figure(name, "network alone p50", round(network, 3), "ms"),
        Figure(name, "whole frame p50", round(everything, 3), "ms"),
        Figure(name, "whole frame / network", round(everything / network, 3), "", "" if small else "≤ 1.05"),
        _p95(name, "beside the network, landmarks and occlusion included, p95", whole.around, case.overhead),
        _p95(name, "swap step alone p95", step.around, case.step),
        Figure(name, "swap step alone p50", round(float(np.median(step.around)), 3), "ms"),
    ]


def _p95(scenario: str, name: str, spent: Milliseconds, bar: str) -> Figure:
    return Figure(scenario, name, round(float(np.percentile(spent, 95)), 3), "ms", bar)


def whole_frames(device: TimedDevice, engine: NeuralEngine, reel: Reel) -> Spent:
    """Landmarks in the region where the face is, then all of the render stage."""
    plan = RenderPlan(IdentityLibrary().load(""), SwapSettings(), SafetySettings())
    networks = Networks(device)
    stage = RenderStage(
        device, engine, lambda: plan, SlateShelf(device), occlusion=make_occlusion(device, networks)
    )
    stage.open(StageContext("render", SystemClock()))
    landmarker = Landmarker(device, networks["face_landmarks"], device.stream("analyse"))

    def work(frame: Frame, shot: Shot) -> None:
        landmarker.find(frame, [Roi.of_landmarks(truth.landmarks) for truth in shot.truths])
        stage.process(AnalysedFrame(frame, _tracks(shot)))

    spent = _each(device, engine, reel, work)
    stage.close()
    return spent


def swap_steps(device: TimedDevice, engine: NeuralEngine, reel: Reel) -> Spent:
    """Align, warp, normalise, mask, colour and paste: engine and blend, nothing else."""
    identity, settings = IdentityLibrary().load(""), SwapSettings()
    engine.prepare(identity)
    blender, stream = Blender(device), device.stream("swap")
    blender.warm_up()

    def work(frame: Frame, shot: Shot) -> None:
        for track in _tracks(shot):
            patch = engine.swap(frame, track, identity, settings, stream)
            if patch is not None:
                blender.blend(frame, patch, track, settings, stream)

    return _each(device, engine, reel, work)


def _each(
    device: TimedDevice, engine: NeuralEngine, reel: Reel, work: Callable[[Frame, Shot], None]
) -> Spent:
    pool, stream, spent = FramePool(device, reel.size), device.stream("source"), Spent()
    wanted, seq = _WARM_UP + _FRAMES, 0
    while seq < wanted:
        shot = reel.at(seq)
        buffer = pool.acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        stamp = Timestamp(seq, 1 / PerformerOptions().fps)
        frame = Frame(seq, "reel", stamp, 0, reel.size, reel.color, buffer)
        device.spent.clear()
        begun = time.process_time_ns()
        work(frame, shot)
        took = (time.process_time_ns() - begun) / 1e6
        of_network = device.spent.get(engine.name, 0) / 1e6
        if seq == 0 and of_network > _SLOW_MS:
            wanted = 1 + _SLOW_FRAMES
        if seq >= (1 if wanted == 1 + _SLOW_FRAMES else _WARM_UP):
            spent.whole.append(took)
            spent.network.append(of_network)
        seq += 1
    return spent


def _tracks(shot: Shot) -> tuple[FaceTrack, ...]:
    return tuple(
        FaceTrack(truth.person, TrackState.SEEN, truth.box, truth.landmarks, age=99, quality=1.0)
        for truth in shot.truths
    )
