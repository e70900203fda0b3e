"""Everything that is measured of one clip."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial

from livefusion.core.face import Identity, Landmarks
from livefusion.core.frame import Outcome
from livefusion.core.geometry import Box
from livefusion.core.settings import Settings
from livefusion.evaluation.border import BorderMeasure
from livefusion.evaluation.expression import ExpressionMeasure
from livefusion.evaluation.faces import FaceWatch, SeenFace
from livefusion.evaluation.figure import Figure, Figures
from livefusion.evaluation.flicker import FlickerMeasure
from livefusion.evaluation.identity import IdentityMeasure
from livefusion.evaluation.jitter import JitterMeasure
from livefusion.evaluation.light import LightMeasure
from livefusion.evaluation.measure import Measure
from livefusion.evaluation.movie import SideBySide
from livefusion.evaluation.occlusion import OcclusionMeasure, Rehearsal
from livefusion.evaluation.options import EvalOptions
from livefusion.evaluation.picture import Picture
from livefusion.evaluation.portrait import source_views
from livefusion.evaluation.run import PairRun, Work
from livefusion.evaluation.second_judge import SecondIdentityMeasure
from livefusion.evaluation.sheet import ContactSheet
from livefusion.evaluation.sight import Sight
from livefusion.evaluation.still import NoisyStill
from livefusion.evaluation.tap import Pair
from livefusion.evaluation.texture import TextureMeasure
from livefusion.evaluation.truth import truth_of
from livefusion.evaluation.untouched import UntouchedMeasure
from livefusion.evaluation.view import FaceView
from livefusion.pipeline.identities import IdentityLibrary


@dataclass(frozen=True, slots=True)
class ClipResult:
    """What was found: the product's counts of frames, faces that were measured, and figures by group."""

    settings: Settings
    identity: Identity
    size: str
    frames: dict[str, int]
    faces: int
    unswapped: int
    groups: dict[str, Figures]
    has_sheet: bool
    has_video: bool


@dataclass(slots=True)
class _Finding:
    """What the runs leave behind for each other."""

    rehearsal: Rehearsal
    still: tuple[Picture, SeenFace] | None = None
    faces: int = 0
    unswapped: int = 0
    has_sheet: bool = False
    has_video: bool = False
    run: PairRun | None = field(default=None)


class ClipEvaluator:
    """Measures one clip after the other with the same networks."""

    def __init__(self, options: EvalOptions, library: IdentityLibrary | None = None) -> None:
        self._options = options
        self._library = library or IdentityLibrary()
        self._sight = Sight()

    def evaluate(self, settings: Settings) -> ClipResult:
        """Run the clip that ``settings`` name, and the runs for occluders and the still.

        Raises what is wrong with the input, the source or the truth, and what ended a run.
        """
        identity = self._library.load(settings.source, settings.consent)
        finding = _Finding(Rehearsal(self._options.occluded_pictures if self._options.occluders else 0))
        measures = self._measures(settings, identity)
        untouched = UntouchedMeasure()
        self._main(settings, measures, untouched, finding)
        groups = {measure.name: measure.figures() for measure in measures}
        groups[untouched.name] = untouched.figures()
        if self._options.judge is None:
            reason = self._options.no_judge
            groups["second_judge"] = {
                name: Figure.none(reason) for name in ("distance_source", "distance_performer")
            }
        groups["still"] = self._still(settings, finding)
        groups["occluders"] = self._occluders(settings, finding)
        assert finding.run is not None, "the main run comes first"
        frames = finding.run.report["frames"]
        form = finding.run.format
        return ClipResult(
            settings=settings,
            identity=identity,
            size=str(form.size) if form else "",
            frames={name: frames[name] for name in ("captured", "swapped", "safe", "clear", "raw")},
            faces=finding.faces,
            unswapped=finding.unswapped,
            groups=groups,
            has_sheet=finding.has_sheet,
            has_video=finding.has_video,
        )

    def _measures(self, settings: Settings, identity: Identity) -> list[Measure]:
        measures: list[Measure] = [
            IdentityMeasure(self._sight, identity.embedding),
            ExpressionMeasure(),
            FlickerMeasure(),
            BorderMeasure(),
            LightMeasure(),
            TextureMeasure(),
        ]
        judge = self._options.judge
        if judge is not None:
            source = judge.describe(source_views(settings.source, identity, self._sight)).mean(axis=0)
            measures.insert(1, SecondIdentityMeasure(judge, source, self._options.judge_every))
        return measures

    def _main(
        self, settings: Settings, measures: Sequence[Measure], untouched: UntouchedMeasure, finding: _Finding
    ) -> None:
        """The clip as it is: every measure but those that need a picture of their own making."""
        options = self._options
        watch = FaceWatch(self._sight, truth_of(settings, options.truth))
        sheet = ContactSheet(options.sheet_every) if options.sheet else None
        run = finding.run = PairRun(Work(settings), self._library)
        with ExitStack() as stack:
            video: SideBySide | None = None
            for pair in stack.enter_context(closing(iter(run))):
                if options.video and video is None and run.format is not None:
                    video = stack.enter_context(SideBySide(options.video, run.format))
                    finding.has_video = True
                faces = watch.seen(pair)
                views = watch.views(pair, faces)
                for measure in measures:
                    for view in views:
                        measure.add(view)
                _count(pair, faces, views, untouched, finding)
                if sheet:
                    sheet.add(pair, [face.was for face in faces.values()])
                if video:
                    video.add(pair)
                options.tell(f"picture {pair.seq + 1}, {finding.faces} faces measured")
        if sheet and options.sheet:
            finding.has_sheet = sheet.write(options.sheet)

    def _still(self, settings: Settings, finding: _Finding) -> Figures:
        measure = JitterMeasure()
        pictures = self._options.still_pictures
        if finding.still is None or not pictures:
            reason = "no face was swapped" if pictures else "left out"
            return {name: Figure.none(reason) for name in measure.figures()}
        picture, face = finding.still
        settings = settings.model_copy(update={"duration": None})
        work = Work(settings, source=partial(NoisyStill, picture, pictures))
        # The face is known not to move: what the network sees of the noise must not be taken for motion.
        watch = FaceWatch(self._sight, _Unmoved(face))
        for pair in self._pairs(work, "still face"):
            for view in watch.views(pair, watch.seen(pair)):
                measure.add(view)
        return measure.figures()

    def _occluders(self, settings: Settings, finding: _Finding) -> Figures:
        figures: Figures = {}
        rehearsal = finding.rehearsal
        for kind in self._options.occluders:
            measure = OcclusionMeasure(kind, rehearsal)
            if rehearsal.last < 0:
                figures[kind] = Figure.none("no face was swapped, or what was pasted cannot be told")
                continue
            for pair in self._pairs(Work(settings, change=measure.draw), kind):
                if pair.seq > rehearsal.last:
                    break
                swapped = bool(pair.pasted)
                measure.add(pair.seq, pair.before, pair.pasted or (), swapped)
            figures |= measure.figures()
        found = [
            figure.mean for kind in self._options.occluders if (figure := figures[kind]).mean is not None
        ]
        means = [mean for mean in found if mean is not None]
        reason = "left out" if not self._options.occluders else "no kind gave a figure"
        return figures | {"iou": Figure.of(means, worst="min", reason=reason)}

    def _pairs(self, work: Work, what: str) -> Iterator[Pair]:
        with closing(iter(PairRun(work, self._library))) as pairs:
            for pair in pairs:
                self._options.tell(f"{what}, picture {pair.seq + 1}")
                yield pair


class _Unmoved:
    """The truth about a face that stays where it was."""

    def __init__(self, face: SeenFace) -> None:
        self._face = face

    def at(self, seq: int) -> dict[int, Landmarks]:
        """The same at any time."""
        return {0: self._face.was}


def _count(
    pair: Pair,
    faces: dict[int, SeenFace],
    views: list[FaceView],
    untouched: UntouchedMeasure,
    finding: _Finding,
) -> None:
    """Take a picture into the counts, and into what the later runs need."""
    finding.faces += len(views)
    finding.unswapped += len(faces) - len(views)
    if not views:
        return
    largest = max(views, key=lambda view: Box.around(view.was).area)
    if finding.still is None:
        finding.still = (pair.before, faces[largest.key])
    if pair.pasted is not None:
        finding.rehearsal.note(pair.seq, largest.was, pair.pasted, pair.before)
    if pair.outcome is not Outcome.SWAPPED:
        return  # what covers a face goes beyond it
    if pair.pasted is None or len(pair.pasted) <= len(views):  # else somebody was swapped whom we do not see
        untouched.add(pair, [face.was for face in faces.values()])
