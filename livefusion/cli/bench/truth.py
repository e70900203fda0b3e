"""The performer, of whom everything is known: is she found, and is she somebody else afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.cli.bench.figure import Figure
from livefusion.cli.bench.options import BenchOptions
from livefusion.cli.bench.sheet import write_sheet
from livefusion.core.face import FaceTrack, Identity, Landmarks, TrackState
from livefusion.core.frame import Frame, Outcome
from livefusion.core.geometry import Region
from livefusion.core.settings import FaceSettings, Pace, Settings
from livefusion.core.timing import SystemClock
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.device import Device
from livefusion.faces.build import build_analyse_stage
from livefusion.faces.embed import SAME_PERSON, cosine
from livefusion.media.formats import OutputFormat
from livefusion.media.sinks.memory import KeptPicture, MemorySink
from livefusion.media.sources.performer import PerformerSource
from livefusion.media.sources.performer_options import PerformerOptions
from livefusion.media.sources.performer_scene import PerformerScene
from livefusion.media.sources.performer_truth import FaceTruth
from livefusion.pipeline.assemble import Pipeline
from livefusion.pipeline.identities import IdentityLibrary
from livefusion.pipeline.parts import Parts
from livefusion.provenance.audit import NOWHERE
from livefusion.provenance.badge import badge_patch
from livefusion.runtime.stage import Drop, StageContext
from livefusion.testing.likeness import Likeness, landmark_error
from livefusion.testing.mark import no_mark
from livefusion.testing.paste_log import PasteLog

Plane = npt.NDArray[np.uint8]

CASES = ("face=170", "face=300", "face=170&faces=2")
_HULL_GROWTH = 1.15
"""The new face may be wider than the old one: beyond the true outline, grown so much, no byte may change."""
_SHEET_EVERY = 12


@dataclass(slots=True)
class Tally:
    """Values of one case, one for each face in each frame; errors are in per cent of the eye distance.

    ``analysis`` and ``unsmoothed`` are of the first person alone.
    """

    analysis: list[float] = field(default_factory=list)
    unsmoothed: list[float] = field(default_factory=list)
    expression: list[float] = field(default_factory=list)
    to_persona: list[float] = field(default_factory=list)
    to_performer: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    changed_outside: int = 0
    changed_beyond_face: int = 0
    pictures: int = 0
    swapped: int = 0


def measure(options: BenchOptions) -> list[Figure]:
    """Every case in turn, at 1280x720."""
    frames = max(60, round(options.seconds))
    return [figure for case in CASES for figure in _measure_case(case, min(frames, 90), options)]


def _measure_case(case: str, frames: int, options: BenchOptions) -> list[Figure]:
    options.note(f"truth: {case}, {frames} frames")
    uri = f"performer:?size=1280x720&fps=30&seed={options.seed}&{case}"
    performer, tally = PerformerOptions.parse(uri), Tally()
    identity = IdentityLibrary().load("")
    measure_analysis(performer, frames, FaceSettings(), tally.analysis)
    measure_analysis(performer, frames, FaceSettings(smoothing=0), tally.unsmoothed)
    sheet = measure_swap(uri, frames, identity, tally)
    if options.keep:
        name = case.replace("=", "").replace("&", "-")
        write_sheet(options.folder / f"truth-{name}.png", sheet)
    return _figures(f"truth {case}", tally)


def _figures(scenario: str, tally: Tally) -> list[Figure]:
    kept, lost = tally.to_persona, tally.to_performer
    rows: list[tuple[str, float, str, str]] = [
        ("pictures", tally.pictures, "", ""),
        ("swapped", tally.swapped, "", ""),
        ("landmark error", _mean(tally.analysis), "% of eye distance", "≤ 1.5"),
        ("landmark error unsmoothed", _mean(tally.unsmoothed), "% of eye distance", ""),
        ("expression error", _mean(tally.expression), "% of eye distance", "≤ 2.5"),
        ("bytes changed outside patches", tally.changed_outside, "", "= 0"),
        ("bytes changed beyond the face", tally.changed_beyond_face, "", "= 0"),
        ("cosine to persona", _mean(kept), "", f"> {SAME_PERSON}"),
        ("cosine to persona, least", min(kept, default=-1.0), "", ""),
        ("cosine to performer", _mean(lost), "", ""),
        ("cosine to performer, most", max(lost, default=1.0), "", ""),
        ("cosine gained over performer", _mean(kept) - _mean(lost), "", "> 0"),
        ("cosine of performer to persona", _mean(tally.before), "", ""),
    ]
    return [Figure(scenario, *row) for row in rows]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else float("nan")


def measure_analysis(
    performer: PerformerOptions, frames: int, settings: FaceSettings, errors: list[float]
) -> None:
    """Errors of the analyse stage's landmarks against the truth, of the first person."""
    device, clock = CpuDevice(), SystemClock()
    source = PerformerSource(_uri(performer), device, pace=Pace.FAST, duration=float(frames / performer.fps))
    stage = build_analyse_stage(device, settings)
    source.open(StageContext("decode", clock))
    stage.open(StageContext("analyse", clock))
    for number in range(frames):
        frame = source.read()
        assert isinstance(frame, Frame), "the performer has enough frames"
        analysed = stage.process(frame)
        assert not isinstance(analysed, Drop), "analyse drops nothing"
        # The network sees another jaw than was drawn in the companion's painted beard: no truth to go by.
        truth = source.truth(number)[0]
        track = _track_of(truth, analysed.tracks)
        if track is not None and track.landmarks is not None:
            errors.append(landmark_error(track.landmarks, truth.landmarks, truth.eye_distance))
    stage.close()
    source.close()


def _uri(performer: PerformerOptions) -> str:
    return (
        f"performer:?size={performer.size}&fps={performer.fps}&seed={performer.seed}"
        f"&face={performer.face}&faces={performer.faces}"
    )


def _track_of(truth: FaceTruth, tracks: Sequence[FaceTrack]) -> FaceTrack | None:
    seen = [track for track in tracks if track.state is TrackState.SEEN]
    best = max(seen, key=lambda track: track.box.iou(truth.box), default=None)
    return best if best is not None and best.box.iou(truth.box) > 0.3 else None


def measure_swap(uri: str, frames: int, identity: Identity, tally: Tally) -> list[npt.NDArray[np.uint8]]:
    """Run the graph and compare what it shows with what the performer looked like; gives some pictures."""
    performer = PerformerOptions.parse(uri)
    log = PasteLog(badge_patch(performer.size, performer.color).region)
    pictures = _run(uri, float(frames / performer.fps), log)
    scene, likeness = PerformerScene(performer), Likeness()
    sheet: list[npt.NDArray[np.uint8]] = []
    for picture, regions in zip(pictures, log.frames, strict=False):
        tally.pictures += 1
        if picture.outcome is not Outcome.SWAPPED:
            continue
        tally.swapped += 1
        raw = _Raw.draw(scene, picture.seq)
        shape = raw.luma.shape
        tally.changed_outside += _changed(picture, raw, _mask_of(regions, shape))
        tally.changed_beyond_face += _changed(picture, raw, _face_mask(raw.truths, regions[-1], shape))
        before = likeness.rgb(raw.luma, raw.chroma, performer.color)
        after = likeness.rgb(picture.luma, picture.chroma, performer.color)
        for truth in raw.truths:
            _compare(likeness, (before, after), truth, identity, tally)
        if picture.seq % _SHEET_EVERY == 0:
            sheet.append(np.hstack([before, after]))
    return sheet


@dataclass(frozen=True, slots=True, eq=False)
class _Raw:
    luma: Plane
    chroma: Plane
    truths: tuple[FaceTruth, ...]

    @staticmethod
    def draw(scene: PerformerScene, frame: int) -> "_Raw":
        size = scene.options.size
        luma = np.empty((size.height, size.width), np.uint8)
        chroma = np.empty((size.height // 2, size.width // 2, 2), np.uint8)
        scene.draw(frame, luma, chroma)
        return _Raw(luma, chroma, scene.truth(frame))


def _run(uri: str, duration: float, device: Device) -> list[KeptPicture]:
    sinks: list[MemorySink] = []

    def make_sink(where: Device, form: OutputFormat) -> MemorySink:
        sinks.append(MemorySink(where))
        return sinks[0]

    def make_source(where: Device) -> PerformerSource:
        return PerformerSource(uri, where, pace=Pace.FAST, duration=duration)

    parts = Parts(trail=NOWHERE, device=device, source=make_source, sinks=[make_sink], mark=no_mark)
    pipeline = Pipeline(Settings(input=uri, pace=Pace.FAST), parts=parts)
    try:
        pipeline.start()
        pipeline.wait()
    finally:
        pipeline.stop()
    return list(sinks[0].pictures)


def _compare(
    likeness: Likeness, pictures: tuple[Plane, Plane], truth: FaceTruth, identity: Identity, tally: Tally
) -> None:
    before, after = pictures
    was = likeness.mesh(before, truth.landmarks).landmarks
    now = likeness.mesh(after, truth.landmarks).landmarks
    tally.expression.append(landmark_error(now, was, truth.eye_distance))
    performer, result = (likeness.embedding(picture, truth.landmarks) for picture in pictures)
    tally.to_performer.append(cosine(result, performer))
    if identity.embedding is not None:
        tally.to_persona.append(cosine(result, identity.embedding))
        tally.before.append(cosine(performer, identity.embedding))


def _changed(picture: KeptPicture, raw: _Raw, allowed: npt.NDArray[np.bool_]) -> int:
    """Bytes that differ outside ``allowed``, a (h, w) mask; a chroma sample belongs to its 2×2 pixels."""
    height, width = allowed.shape
    luma = (picture.luma != raw.luma) & ~allowed
    quads = np.any(allowed.reshape(height // 2, 2, width // 2, 2), axis=(1, 3), keepdims=True)
    chroma = (picture.chroma != raw.chroma) & ~quads.reshape(height // 2, width // 2, 1)
    return int(np.count_nonzero(luma) + np.count_nonzero(chroma))


def _mask_of(regions: Sequence[Region], shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(shape, np.bool_)
    for region in regions:
        mask[region.luma] = True
    return mask


def _face_mask(truths: Sequence[FaceTruth], badge: Region, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    mask = np.zeros(shape, np.uint8)
    for outline in map(_outline, (truth.landmarks for truth in truths)):
        cv2.fillConvexPoly(mask, outline, 1)
    mask[badge.luma] = 1
    return mask.astype(np.bool_)


def _outline(landmarks: Landmarks) -> npt.NDArray[np.int32]:
    centre = landmarks[:, :2].mean(axis=0)
    grown = centre + (landmarks[:, :2] - centre) * _HULL_GROWTH
    return np.asarray(cv2.convexHull(np.rint(grown).astype(np.int32)), np.int32)
