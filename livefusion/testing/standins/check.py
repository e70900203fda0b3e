"""Holds the neural engine against the oracle: how far a picture is from what a stand-in must give."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import SystemClock, Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Stream
from livefusion.devices.pool import FramePool
from livefusion.inference.catalog import ModelFile, inspect
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.ops.registry import NV12_TO_RGB
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.stage import StageContext
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.portrait import portrait
from livefusion.testing.reel import Reel, Shot, draw_reel
from livefusion.testing.standins.build import build_converter, build_recogniser, build_swap
from livefusion.testing.standins.oracle import Oracle, shrunk_crop
from livefusion.testing.standins.truth import Truth

Rgb = npt.NDArray[np.uint8]

# Nothing but the patch itself is to be seen.
BARE = SwapSettings(match_colour=False, relight=0.0, grain=0.0, occlusion=False)
OPAQUE = 255


class StandinFolder:
    """Stand-ins on disk, built when they are asked for first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def swap(self, truth: Truth, *, any_number: bool = False, large: bool = False) -> ModelFile:
        """The swap network; the weights of those that compute in halves lie in another order."""
        name = truth.name + "_any" * any_number + "_large" * large
        path = self._folder / f"{name}{'.dfm' if truth.family == 'dfm' else '.onnx'}"
        if not path.exists():
            halves = truth.inner == "float16"
            emap_name, shuffle = ("buff2fs", 3) if halves else ("emap", None)
            build_swap(truth, path, emap_name=emap_name, shuffle=shuffle, any_number=any_number, large=large)
        return inspect(path, family=truth.family)

    def finder(self, truth: Truth) -> Callable[[str], ModelFile | None]:
        """What ``catalog.find_of_family`` is to a user who has what a network needs, and no more."""
        needed = {truth.recogniser, truth.converter, truth.adapter} - {""}
        return lambda family: self.helper(family) if family in needed else None

    def helper(self, family: str) -> ModelFile:
        """A recogniser or a converter."""
        path = self._folder / f"{family}.onnx"
        if not path.exists():
            build = build_converter if family.startswith("crossface") else build_recogniser
            build(family, path)
        return inspect(path, family=family)


@dataclass(slots=True, eq=False)
class Seen:
    """One face as the engine drew it: where the patch is opaque, (h, w) bool of the picture."""

    track: FaceTrack
    opaque: npt.NDArray[np.bool_]


class Watched(NeuralEngine):
    """Notes where each patch is opaque."""

    seen: list[Seen]

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The patch as it is."""
        patch = super().swap(frame, track, identity, settings, stream)
        if patch is not None:
            opaque = np.zeros(frame.buffer.luma.shape, bool)
            opaque[patch.region.luma] = self._device.to_host(patch.pixels)[..., 3] == OPAQUE
            self.seen.append(Seen(track, opaque))
        return patch


def performer(face: int, shots: int = 3) -> Reel:
    """Pictures of a performer whose landmarks are known."""
    return draw_reel(PerformerOptions.parse(f"performer:?face={face}&seed=3&turn=8"), shots)


def measure(
    truth: Truth,
    folder: StandinFolder,
    identity: Identity,
    reel: Reel,
    *,
    spoil: Callable[[NeuralEngine], None] = lambda engine: None,
    wearing: SwapSettings = BARE,
    morph: float = 1.0,
    boost: int = 1,
    any_number: bool = False,
    reckoned_weight: float | None = None,
) -> float:
    """Mean difference from the oracle where the new face is opaque, in 255ths, through render and blend.

    ``spoil`` changes the engine before it gets the identity ready; ``morph`` is what the oracle reckons with;
    ``boost`` is how much finer faces are made, by a network that takes ``any_number`` of pictures or but one.
    ``reckoned_weight`` is the identity weight that the oracle reckons with, that of ``wearing`` if left out.
    """
    device = CpuDevice()
    model = folder.swap(truth, any_number=any_number)
    engine = Watched(device, model, find=folder.finder(truth), boost=boost)
    engine.seen = []
    spoil(engine)
    plan = RenderPlan(identity, wearing, SafetySettings(badge=False))
    stage = RenderStage(device, engine, lambda: plan, SlateShelf(device))
    stage.open(StageContext("render", SystemClock()))
    weight = wearing.identity_weight if reckoned_weight is None else reckoned_weight
    oracle = Oracle(truth, portrait(identity), shrunk_crop, morph=morph, boost=boost, weight=weight)
    pool, stream = FramePool(device, reel.size), device.stream("source")
    errors = []
    for seq in range(len(reel.shots)):
        shot = reel.at(seq)
        buffer = pool.acquire(stream)
        np.copyto(buffer.luma, shot.luma)
        np.copyto(buffer.chroma, shot.chroma)
        frame = Frame(
            seq, "reel", Timestamp(seq, 1 / PerformerOptions().fps), 0, reel.size, reel.color, buffer
        )
        engine.seen.clear()
        stage.process(AnalysedFrame(frame, tracks_of(shot)))
        after = rgb_of(buffer.luma, buffer.chroma, reel.color)
        before = rgb_of(shot.luma, shot.chroma, reel.color)
        if seq == 0:
            for one in engine.seen[:1]:
                assert one.track.landmarks is not None
                oracle.look_at(before, one.track.landmarks)
        errors += [difference(oracle, one, before, after) for one in engine.seen]
    stage.close()
    if not errors:
        raise AssertionError(f"{truth.name} drew no face")
    return float(np.mean(errors))


def difference(oracle: Oracle, seen: Seen, before: Rgb, after: Rgb) -> float:
    """Mean difference in 255ths; ``AssertionError`` if there is hardly anything to compare."""
    landmarks = seen.track.landmarks
    assert landmarks is not None
    if seen.opaque.sum() < 0.2 * seen.track.box.area:
        raise AssertionError(f"only {seen.opaque.sum()} pixels of the new face are opaque")
    wanted = oracle.picture(before, landmarks) * 255
    return float(np.abs(after[seen.opaque] - wanted[seen.opaque]).mean())


def rgb_of(luma: npt.NDArray[np.uint8], chroma: npt.NDArray[np.uint8], color: ColorInfo) -> Rgb:
    """(h, w, 3) RGB of NV12."""
    rgb = np.empty((*luma.shape, 3), np.uint8)
    NV12_TO_RGB.body("cpu")(luma=luma, chroma=chroma, rgb=rgb, color=color)
    return rgb


def tracks_of(shot: Shot) -> tuple[FaceTrack, ...]:
    """The faces of a shot, as sure as can be."""
    return tuple(
        FaceTrack(truth.person, TrackState.SEEN, truth.box, truth.landmarks, age=99, quality=1.0)
        for truth in shot.truths
    )
