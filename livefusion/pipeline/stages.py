"""The stages of a run, made for whatever device they are to stand on."""

from collections.abc import Callable
from dataclasses import astuple

from livefusion.core.face import AnalysedFrame, FaceTrack
from livefusion.core.frame import Frame, RenderedFrame
from livefusion.core.settings import FaceSettings
from livefusion.faces.analyse import DETECT_GUARD_NS, AnalyseStage, FaceCounts
from livefusion.faces.build import Networks, build_analyse_stage
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.pipeline.movable_stage import MovableStage
from livefusion.pipeline.recovery import Footing, Recovery
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.swap.mesh.engine import MeshEngine

PATIENT_GUARD_NS = 1_000_000_000
"""A file can wait for its detector where a live picture would have to be covered."""


class Stages:
    """Makes the stages and knows the ones at work: what they see, load and draw with.

    What a stage leaves behind is let go of before its successor is made, whose memory it may be; the faces
    that it followed are handed on.
    """

    def __init__(
        self,
        recovery: Recovery,
        slates: SlateShelf,
        faces: FaceSettings,
        current_plan: Callable[[], RenderPlan],
        *,
        patient: bool,
    ) -> None:
        self._recovery = recovery
        self._slates = slates
        self._faces = faces
        self._current_plan = current_plan
        self._guard_ns = PATIENT_GUARD_NS if patient else DETECT_GUARD_NS
        self._models = ModelRegistry.load()
        self._networks: Networks | None = None
        self._analyse: AnalyseStage | None = None
        self._known: tuple[FaceTrack, ...] = ()
        self._former = FaceCounts()
        self.engine: MeshEngine | None = None
        """What draws the faces now; None while it is made anew."""

    def analyse(self) -> MovableStage[Frame, AnalysedFrame]:
        """The stage that finds the faces, to be opened."""
        return MovableStage("analyse", self._recovery, self._make_analyse, self._unseen)

    def render(self) -> MovableStage[AnalysedFrame, RenderedFrame]:
        """The stage that changes them, to be opened."""
        return MovableStage("render", self._recovery, self._make_render, self._withheld, withholds=True)

    @property
    def networks(self) -> tuple[Session, ...]:
        """The networks in use."""
        return self._networks.loaded if self._networks else ()

    @property
    def counts(self) -> FaceCounts:
        """The figures of all analyse stages of the run."""
        return _sum(self._former, self._analyse.counts) if self._analyse else self._former

    def _make_analyse(self, footing: Footing) -> AnalyseStage:
        if self._analyse is not None:
            self._known, self._former = self._analyse.tracks, self.counts
            self._analyse = self._networks = None
            self._recovery.free(footing.device)
        networks = Networks(footing.device, self._models)
        stage = build_analyse_stage(
            footing.device,
            footing.faces(self._faces),
            networks,
            detect_guard_ns=self._guard_ns,
            known=self._known,
        )
        self._analyse, self._networks = stage, networks
        return stage

    def _make_render(self, footing: Footing) -> RenderStage:
        if self.engine is not None:
            self.engine = None
            self._recovery.free(footing.device)
        engine = MeshEngine(footing.device)
        stage = RenderStage(footing.device, engine, self._current_plan, self._slates)
        self.engine = engine
        return stage

    def _unseen(self, frame: Frame) -> AnalysedFrame:
        """A picture that nobody may touch goes on as it is, and is trusted by nobody."""
        return AnalysedFrame(frame, self._known, trusted=False)

    def _withheld(self, item: AnalysedFrame) -> RenderedFrame:
        return self._slates.in_place_of(item.frame)


def _sum(first: FaceCounts, second: FaceCounts) -> FaceCounts:
    return FaceCounts(*(a + b for a, b in zip(astuple(first), astuple(second), strict=True)))
