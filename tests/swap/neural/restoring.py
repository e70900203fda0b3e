"""Plays a performer through the render stage with a network that restores new faces."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from livefusion.core.face import AnalysedFrame, FaceTrack, Identity
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.devices.pool import FramePool
from livefusion.inference.catalog import ModelFile, inspect
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.stage import StageContext
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.neural.engine import load_session
from livefusion.swap.neural.enhance import PatchRestorer
from livefusion.swap.neural.enhance_standby import Enhancer
from livefusion.testing.clock import ScriptedClock
from livefusion.testing.face_standins import restorer_standin
from livefusion.testing.reel import Reel
from livefusion.testing.standins.check import BARE, OPAQUE, Seen, StandinFolder, Watched, rgb_of, tracks_of
from livefusion.testing.standins.truth import truth

LONG_S = 60.0
FRAME_NS = 33_333_333


class WatchedMesh(MeshEngine):
    """Notes where each patch is opaque, as the watched network does."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.seen: list[Seen] = []

    def swap(self, frame: Frame, track: FaceTrack, *rest: Any) -> Patch | None:
        patch = super().swap(frame, track, *rest)
        if patch is not None:
            opaque = np.zeros(frame.buffer.luma.shape, bool)
            opaque[patch.region.luma] = patch.pixels[..., 3] == OPAQUE
            self.seen.append(Seen(track, opaque))
        return patch


def restorer(path: Path, side: int = 512, **more: object) -> ModelFile:
    return inspect(restorer_standin(path / f"any{side}.onnx", side, **more))  # type: ignore[arg-type]


def loading(device: Device, model: ModelFile) -> partial[PatchRestorer]:
    return partial(PatchRestorer, device, model, load_session)


@dataclass
class Shown:
    """A rendered picture, before and after, and where the new face is opaque."""

    before: np.ndarray
    after: np.ndarray
    opaque: np.ndarray = field(default_factory=lambda: np.zeros(0))


def play(
    reel: Reel,
    identity: Identity,
    engine: Watched | WatchedMesh,
    enhancer: Enhancer | None,
    *,
    wearing: SwapSettings = BARE,
    ladder: DeadlineLadder | None = None,
    seqs: range = range(2),
    late_ns: int = 0,
    clock: ScriptedClock | None = None,
) -> list[Shown]:
    device = engine._device
    clock = clock or ScriptedClock()
    plan = RenderPlan(identity, wearing, SafetySettings(badge=False))
    stage = RenderStage(device, engine, lambda: plan, SlateShelf(device), enhancer=enhancer, ladder=ladder)
    stage.open(StageContext("render", clock))
    pool, stream = FramePool(device, reel.size), device.stream("source")
    shown = []
    for seq in seqs:
        shot = reel.at(seq)
        buffer = pool.acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        captured = clock.now_ns() - late_ns
        frame = Frame(seq, "reel", Timestamp(seq, Fraction(1, 30)), captured, reel.size, reel.color, buffer)
        engine.seen = []
        stage.process(AnalysedFrame(frame, tracks_of(shot)))
        before = rgb_of(shot.luma, shot.chroma, reel.color)
        after = rgb_of(buffer.luma, buffer.chroma, reel.color)
        shown.append(Shown(before, after, engine.seen[0].opaque))
        clock.advance(FRAME_NS)
    stage.close()
    return shown


def engine_of(kind: str, standins: StandinFolder) -> Watched | WatchedMesh:
    device = CpuDevice()
    if kind == "mesh":
        return WatchedMesh(device)
    one = truth("inswapper_128")
    engine = Watched(device, standins.swap(one), find=standins.finder(one))
    engine.seen = []
    return engine
