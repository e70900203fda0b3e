"""Holds whole runs against the oracle: decoded, analysed, swapped and blended as any input is."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, Identity
from livefusion.core.frame import Frame, Outcome
from livefusion.core.patch import Patch
from livefusion.core.settings import FaceSettings, Pace, SafetySettings, Settings, SwapSettings
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Stream
from livefusion.inference.catalog import MODELS_FOLDER_VARIABLE, UserModels
from livefusion.media.sinks.memory import MemorySink
from livefusion.media.sources.file import FileSource
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.media.sources.performer_truth import FaceTruth
from livefusion.pipeline import engines
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.swap.neural.engine import NeuralEngine
from livefusion.swap.portrait import portrait
from livefusion.testing.performer_clip import render_scene
from livefusion.testing.standins.check import BARE, OPAQUE, Rgb, Seen, StandinFolder, rgb_of
from livefusion.testing.standins.oracle import Oracle, shrunk_crop
from livefusion.testing.standins.truth import Doubles, Truth

_LONGEST_S = 300.0
_SAFETY = SafetySettings(badge=False, badge_off_reason="pixels are compared")


@dataclass(frozen=True, slots=True)
class WholeError:
    """Mean differences in 255ths where the new face is opaque.

    ``seen`` is that of the picture from the oracle's with the landmarks that were found, ``true`` with those
    that the performer has; ``allowed`` is how far the oracle's two pictures are apart: what is off by more
    than that is not off for the landmarks' sake. ``frames`` is how many pictures were compared.
    """

    seen: float
    true: float
    allowed: float
    frames: int


@dataclass(frozen=True, slots=True, eq=False)
class _Note:
    before: Rgb
    color: ColorInfo
    seen: list[Seen] = field(default_factory=list)


class _Notes(NeuralEngine):
    """Notes what comes in, and where each patch is opaque, by the number of the picture."""

    notes: dict[int, "_Note"]

    def swap(
        self, frame: Frame, track: FaceTrack, identity: Identity, settings: SwapSettings, stream: Stream
    ) -> Patch | None:
        """The patch as it is."""
        note = self.notes.get(frame.seq)
        if note is None:  # the first face of the picture, which is as it was decoded
            buffer = frame.buffer
            before = rgb_of(buffer.luma.copy(), buffer.chroma.copy(), frame.color)
            note = self.notes[frame.seq] = _Note(before, frame.color)
        patch = super().swap(frame, track, identity, settings, stream)
        if patch is not None:
            opaque = np.zeros(frame.buffer.luma.shape, bool)
            opaque[patch.region.luma] = self._device.to_host(patch.pixels)[..., 3] == OPAQUE
            note.seen.append(Seen(track, opaque))
        return patch


def measure_whole(
    truth: Truth,
    folder: StandinFolder,
    identity: Identity,
    options: PerformerOptions,
    *,
    faces: FaceSettings | None = None,
) -> WholeError:
    """How far the pictures of a run on a file are from what the stand-in must give; one face in each.

    With a landmark network in ``faces`` it must be aligned by that.

    ``AssertionError`` if a picture is missing, raw, or shows no new face.
    """
    notes, sink = _run(truth, folder, identity, options, faces or FaceSettings())
    scene = PerformerScene(options)
    oracle = Oracle(truth, portrait(identity), shrunk_crop)
    errors = []
    for picture in sink.pictures:
        note = notes.get(picture.seq)
        if picture.outcome is not Outcome.SWAPPED or note is None:
            raise AssertionError(f"{truth.name}: picture {picture.seq} is {picture.outcome}")
        after = rgb_of(picture.luma, picture.chroma, note.color)
        (known,) = scene.truth(picture.seq)
        errors += [_compare(oracle, seen, known, note.before, after) for seen in note.seen]
    if not len(sink.pictures) == len(errors) == options.frames:
        raise AssertionError(f"{truth.name}: {len(errors)} faces in {len(sink.pictures)} pictures")
    seen_off, true_off, allowed = np.mean(errors, axis=0).tolist()
    return WholeError(seen_off, true_off, allowed, len(sink.pictures))


def _run(
    truth: Truth, folder: StandinFolder, identity: Identity, options: PerformerOptions, faces: FaceSettings
) -> tuple[dict[int, _Note], MemorySink]:
    """Run the graph to its end, on the user's models that this stand-in needs."""
    device = CpuDevice()
    sink = MemorySink(device)

    class Notes(_Notes):
        notes: dict[int, _Note] = {}  # noqa: RUF012 of this run alone

    model = folder.swap(truth).path
    clip = _clip(model.parent, options)
    home = model.parent / f"{truth.name}.models"
    with mock.patch.dict(os.environ, {MODELS_FOLDER_VARIABLE: str(home)}), _engine(Notes):
        needed = (truth.recogniser, truth.converter, truth.adapter)
        for family in filter(None, needed if truth.identity == "embedding" else ()):
            UserModels().add(folder.helper(family).path, family=family)
        settings = Settings(
            input=str(clip),
            source=identity.id,
            engine=str(model),
            family=truth.family,
            pace=Pace.FAST,
            faces=faces,
            swap=BARE,
            safety=_SAFETY,
        )
        source = FileSource(clip, device)
        parts = Parts(
            trail=NOWHERE, device=device, source=lambda _: source, sinks=[lambda *_: sink], mark=lambda: None
        )
        pipeline = Pipeline(settings, parts=parts)
        try:
            pipeline.start()
            if not pipeline.wait(_LONGEST_S):
                raise AssertionError(f"{truth.name}: the graph hangs")
        finally:
            pipeline.stop()
    return Notes.notes, sink


def _engine(kind: type[NeuralEngine]) -> Any:
    return mock.patch.object(engines, "NeuralEngine", kind)


def _clip(folder: Path, options: PerformerOptions) -> Path:
    """The performer as an H.264 file, rendered once."""
    path = folder / f"performer-{options.size}-{options.face}-{options.seed}-{options.frames}.mp4"
    if not path.exists():
        render_scene(path, options)
    return path


def _compare(
    oracle: Oracle, seen: Seen, known: FaceTruth, before: Rgb, after: Rgb
) -> tuple[float, float, float]:
    assert seen.track.landmarks is not None

    def off(one: Doubles, other: Doubles) -> float:
        return float(np.abs(one[seen.opaque] - other[seen.opaque]).mean())

    found = oracle.picture(before, seen.track.landmarks, seen.track.points) * 255
    true = oracle.picture(before, known.landmarks) * 255
    shown = after.astype(np.float64)
    return off(shown, found), off(shown, true), off(found, true)
