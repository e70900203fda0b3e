"""The stages of a run, made for whatever device they are to stand on."""

from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from typing import Final

from livefusion.blend.face_mask import FaceMasks
from livefusion.blend.occlusion import Occlusion
from livefusion.core.errors import DeviceError
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity
from livefusion.core.frame import Frame, RenderedFrame
from livefusion.core.settings import FaceSettings
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback, fallbacks_of
from livefusion.faces.analyse import DETECT_GUARD_NS, AnalyseStage, FaceCounts
from livefusion.faces.build import Networks, build_analyse_stage
from livefusion.faces.detectors import check_detector
from livefusion.faces.point_networks import check_landmarks
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.pipeline.engines import EngineChoice
from livefusion.pipeline.movable_stage import MovableStage
from livefusion.pipeline.own_networks import OwnNetworks
from livefusion.pipeline.recovery import Footing, Recovery
from livefusion.pipeline.render import RenderPlan, RenderStage
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.swap.engine import SwapEngine
from livefusion.swap.neural.enhance_standby import Enhancer

RENDER: Final = "render"
OCCLUDER: Final = "face_occluder"
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
        engine: EngineChoice | None = None,
        *,
        patient: bool,
        own: OwnNetworks | None = None,
        interval_s: float | None = None,
        ladder: DeadlineLadder | None = None,
        look: Callable[[Frame, Device], None] | None = None,
    ) -> None:
        self._look = look
        self._recovery = recovery
        self._slates = slates
        self._faces = faces
        self._current_plan = current_plan
        self._choice = engine or EngineChoice("mesh")
        self._own, self._interval_s = own or OwnNetworks(), interval_s
        self._masks: FaceMasks | None = None
        self.enhancer: Enhancer | None = None
        """What restores the new faces, if anything does."""
        self._ladder = ladder
        self._patient = patient
        self._guard_ns = PATIENT_GUARD_NS if patient else DETECT_GUARD_NS
        self._models = ModelRegistry.load()
        check_detector(faces.detector)
        check_landmarks(faces.landmarks)
        self._networks: Networks | None = None
        self._occluder: Networks | None = None
        self._known: tuple[FaceTrack, ...] = ()
        self._seen: tuple[FaceCounts, AnalyseStage | None] = (FaceCounts(), None)
        self._drawing: tuple[Footing, SwapEngine] | None = None
        self._coming: Identity | None = None

    def analyse(self) -> MovableStage[Frame, AnalysedFrame]:
        """The stage that finds the faces, to be opened."""
        return MovableStage("analyse", self._recovery, self._make_analyse, self._unseen)

    def render(self) -> MovableStage[AnalysedFrame, RenderedFrame]:
        """The stage that changes them, to be opened."""
        return MovableStage(RENDER, self._recovery, self._make_render, self._withheld, withholds=True)

    def prepare(self, identity: Identity) -> None:
        """Get a face ready where faces are drawn, also by a stage that is made anew just now.

        Raises what the device says if there is no way out of it.
        """
        self._coming = identity  # noted before the look at what draws; ``_make_render`` does it the other way
        ready = None
        while (drawing := self._drawing) is not None and drawing is not ready:
            footing, engine = drawing
            try:
                engine.prepare(identity)
                ready = drawing
            except DeviceError as error:
                if footing is not self._recovery.footing:
                    ready = drawing  # its successor is on the way
                elif not self._recovery.meet(RENDER, error, footing):
                    self._coming = None
                    raise

    @property
    def engine(self) -> str:
        """Name of what draws the faces; empty while it is made anew."""
        drawing = self._drawing
        return drawing[1].name if drawing else ""

    @property
    def networks(self) -> tuple[Session, ...]:
        """The networks in use."""
        drawing, both = self._drawing, (self._networks, self._occluder)
        own = drawing[1].networks if drawing else ()
        restorers = self.enhancer.networks if self.enhancer else ()
        masks = (self._masks.session,) if self._masks and self._masks.session else ()
        return (
            *own,
            *restorers,
            *masks,
            *(network for networks in both if networks for network in networks.loaded),
        )

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What the engine at work and the networks in use do otherwise than they best would."""
        drawing = self._drawing
        parts = (drawing[1] if drawing else None, *self.networks, self._networks)
        return tuple(one for part in parts for one in fallbacks_of(part))

    @property
    def counts(self) -> FaceCounts:
        """The figures of all analyse stages of the run."""
        former, analyse = self._seen  # one read: the stage may be made anew meanwhile
        return _sum(former, analyse.counts) if analyse else former

    def _make_analyse(self, footing: Footing) -> AnalyseStage:
        _, former = self._seen
        if former is not None:
            self._known, self._seen = former.tracks, (self.counts, None)
            former = self._networks = None
            self._recovery.free(footing.device)
        networks = Networks(footing.device, self._models)
        stage = build_analyse_stage(
            footing.device,
            footing.faces(self._faces),
            networks,
            detect_guard_ns=self._guard_ns,
            known=self._known,
            interval_s=None if self._patient else self._interval_s,
        )
        self._seen, self._networks = (self._seen[0], stage), networks
        return stage

    def _make_render(self, footing: Footing) -> RenderStage:
        if self._drawing is not None:
            self._drawing = self._occluder = self._masks = self.enhancer = None
            self._recovery.free(footing.device)
        faces = footing.faces(self._faces).max_faces
        engine = self._choice.make(footing.device, live=not self._patient, faces=faces)
        occlusion = self._make_occlusion(footing)
        self.enhancer = self._make_enhancer(footing)
        stage = RenderStage(
            footing.device,
            engine,
            self._current_plan,
            self._slates,
            occlusion=occlusion,
            enhancer=self.enhancer,
            ladder=self._ladder,
            look=self._look,
        )
        self._drawing = footing, engine
        if self._coming is not None:
            engine.prepare(self._coming)
        return stage

    def _make_occlusion(self, footing: Footing) -> Occlusion | None:
        """What keeps hands and hair in front; where memory is short, that is done without."""
        if footing.frugal:
            return None
        self._occluder = networks = Networks(footing.device, self._models)
        faces = footing.faces(self._faces).max_faces
        self._masks = masks = self._own.make_masks(footing.device, faces)
        return make_occlusion(footing.device, networks, faces, own=masks)

    def _make_enhancer(self, footing: Footing) -> Enhancer | None:
        """What restores new faces; where memory is short, that is done without."""
        budget_s = None if self._patient else self._interval_s
        return None if footing.frugal else self._own.make_enhancer(footing.device, budget_s)

    def _unseen(self, frame: Frame) -> AnalysedFrame:
        """A picture that nobody may touch goes on as it is, and is trusted by nobody."""
        return AnalysedFrame(frame, self._known, trusted=False)

    def _withheld(self, item: AnalysedFrame) -> RenderedFrame:
        return self._slates.in_place_of(item.frame)


def make_occlusion(
    device: Device, networks: Networks, faces: int = 1, *, own: FaceMasks | None = None
) -> Occlusion:
    """What keeps hands and hair in front of so many faces a frame; it loads its network when it opens."""
    return Occlusion(device, partial(networks.__getitem__, OCCLUDER), faces, own=own)


def _sum(first: FaceCounts, second: FaceCounts) -> FaceCounts:
    return FaceCounts(*(a + b for a, b in zip(astuple(first), astuple(second), strict=True)))
