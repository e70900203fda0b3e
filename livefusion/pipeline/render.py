"""The render stage: cover what must be covered, swap what can be swapped, mark the picture as altered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from livefusion.blend.blender import Blender
from livefusion.blend.occlusion import Occlusion
from livefusion.core.events import Discontinuity, Event, Flush, FormatChange
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.core.timing import Clock, SystemClock
from livefusion.devices.device import Device
from livefusion.pipeline.badge import BadgeStamp
from livefusion.pipeline.mark import MarkStamp
from livefusion.pipeline.permit import FREE, Permit
from livefusion.pipeline.safety import Covered, SafetyPolicy
from livefusion.pipeline.slate import SlateShelf
from livefusion.provenance.watermark import Watermark
from livefusion.runtime.ladder import DeadlineLadder
from livefusion.runtime.stage import Drop, StageContext
from livefusion.swap.engine import SwapEngine
from livefusion.swap.mesh.coverage import bared
from livefusion.swap.neural.enhance_standby import Enhancer

LEAST_OPACITY = 0.5
"""A new face that lets more of the real one through than this does not hide it: the picture counts as raw."""
ENHANCE: Final = "enhance"
OCCLUSION: Final = "occlusion"
EXPRESSION: Final = "expression"
OCCLUDER: Final = "occluder"
RUNGS: Final = (OCCLUSION, EXPRESSION)
"""Work that is left out when frames come late, the first to go first (``DeadlineLadder``)."""


@dataclass(frozen=True, slots=True)
class RenderPlan:
    """What to make of the faces: an immutable snapshot, read once a frame and switched by reference.

    Every run has a ``mark``; only measurements and tests that compare pixels go without.
    """

    identity: Identity
    swap: SwapSettings
    safety: SafetySettings
    mark: Watermark | None = None
    permit: Permit = FREE
    gate: str = ""
    """What the slate says in place of the picture because of what it shows; empty if nothing is wrong."""

    def withheld(self, now_ns: int) -> str:
        """What the slate says in place of every picture at that instant; empty if pictures may be shown."""
        return self.permit.refusal_at(now_ns) or self.gate

    @property
    def hiding(self) -> float:
        """How much of a face is hidden by the new one, in [0, 1]: its holes, and lips and lids that are left
        to the performer, let the rest show."""
        swap = self.swap
        bare = bared(swap.mouth, swap.eyes) if min(swap.mouth, swap.eyes) < 1 else 0.0
        return swap.opacity * max(self.identity.coverage - bare, 0.0)

    @property
    def most_kept(self) -> float:
        """The largest share of a new face that may be left out for what is in front of it, in [0, 1].

        So much that even if nothing at all was there, what is drawn hides as much as ``LEAST_OPACITY`` asks.
        """
        hiding = self.hiding
        return 1 - LEAST_OPACITY / hiding if hiding > LEAST_OPACITY else 0.0


class RenderStage:
    """Turns an analysed frame into one that is fit to leave the graph, changing its pixels in place.

    ``current_plan`` gives the plan in force; an identity must have been prepared in ``engine`` before a plan
    with it comes into force, except the first, which ``open`` prepares. Without ``occlusion`` a new face is
    drawn over all that is in front of the old one, without an ``enhancer`` it stays as the engine makes it;
    without a ``ladder``, whose rungs include ``ENHANCE`` with one, nothing is left out, however late.
    """

    def __init__(
        self,
        device: Device,
        engine: SwapEngine,
        current_plan: Callable[[], RenderPlan],
        slates: SlateShelf,
        *,
        occlusion: Occlusion | None = None,
        enhancer: Enhancer | None = None,
        ladder: DeadlineLadder | None = None,
        look: Callable[[Frame, Device], None] | None = None,
    ) -> None:
        self._device = device
        self._look_at = look
        self._engine = engine
        self._occlusion = occlusion
        self._enhancer = enhancer
        self._ladder = ladder
        self._current_plan = current_plan
        self._slates = slates
        self._clock: Clock = SystemClock()
        self._stream = device.stream("render")
        self._policy = SafetyPolicy(device, self._stream, slates)
        self._blender = Blender(device)
        self._badge = BadgeStamp(device)
        self._mark = MarkStamp(device)

    def open(self, context: StageContext) -> None:
        """Prepare the identity, and compile what the first frame would have to wait for."""
        plan = self._current_plan()
        self._clock = context.clock
        self._engine.prepare(plan.identity)
        self._engine.warm_up()
        self._blender.warm_up()
        self._mark.prepare()
        if self._occlusion is not None and plan.swap.occlusion:
            self._occlusion.warm_up(self._stream)
        if self._enhancer is not None:
            self._enhancer.warm_up()

    def process(self, item: AnalysedFrame) -> RenderedFrame | Drop:
        """Swap or cover every known face; cover the picture where faces may be that nobody knows."""
        frame = item.frame
        if self._ladder is not None:
            self._ladder.judge(frame.captured_ns)
        self._stream.wait(frame.buffer.ready)
        if self._look_at is not None:
            self._look_at(frame, self._device)  # before the plan is read, which may say that it is withheld
        plan = self._current_plan()
        if withheld := plan.withheld(self._clock.now_ns()):
            return self._withhold(frame, plan, withheld)
        seen = [track for track in item.tracks if track.state is TrackState.SEEN] if item.trusted else []
        self._look(frame, seen, plan)
        covered = self._cover(item, plan)
        if covered.whole or not item.trusted:
            return self._leave(frame, covered, plan, Outcome.SAFE if covered.hidden else Outcome.RAW)
        self._engine.look(frame, seen)
        for track in seen:
            self._swap(frame, track, plan)
        return self._leave(frame, covered, plan, _outcome(seen, item, covered, plan.hiding))

    def fallback(self, item: AnalysedFrame, error: BaseException | None) -> RenderedFrame | Drop:
        """Cover the whole picture: the swap may have stopped half-way through it."""
        plan, frame = self._current_plan(), item.frame
        self._stream.wait(frame.buffer.ready)
        if withheld := plan.withheld(self._clock.now_ns()):
            return self._withhold(frame, plan, withheld)
        covered = self._policy.cover_picture(frame, plan.safety)
        return self._leave(frame, covered, plan, Outcome.SAFE if covered.hidden else Outcome.RAW)

    def handle(self, event: Event) -> None:
        """Forget what was smoothed or held when the picture jumps."""
        if isinstance(event, Discontinuity | Flush | FormatChange):
            self._blender.reset()
            self._policy.forget()
            if self._occlusion is not None:
                self._occlusion.reset()

    def close(self) -> None:
        """Nothing to give back: the buffers go with the stage."""

    def _withhold(self, frame: Frame, plan: RenderPlan, text: str) -> RenderedFrame:
        """The slate, which says why; what was held until now may not be shown later either."""
        self._policy.forget()
        slate = self._slates.picture(frame, text)
        return self._leave(frame, Covered(slate, hidden=True, whole=True), plan, Outcome.SAFE)

    def _cover(self, item: AnalysedFrame, plan: RenderPlan) -> Covered:
        if not item.trusted:
            return self._policy.cover_picture(item.frame, plan.safety)
        lost = [track.box for track in item.tracks if track.state is not TrackState.SEEN]
        if not lost:
            return Covered(item.frame.buffer, hidden=True, whole=False)
        return self._policy.cover(item.frame, lost, plan.safety)

    def _look(self, frame: Frame, seen: Sequence[FaceTrack], plan: RenderPlan) -> None:
        """See what is in front of the faces, as long as there is time for it."""
        if self._occlusion is not None:
            wanted = plan.swap.occlusion and (self._ladder is None or self._ladder.allows(OCCLUSION))
            own = self._occlusion.own is not None and (self._ladder is None or self._ladder.allows(OCCLUDER))
            self._occlusion.look(frame, seen if wanted else (), self._stream, with_own=own)

    def _swap(self, frame: Frame, track: FaceTrack, plan: RenderPlan) -> None:
        swap = plan.swap
        if self._ladder is not None and not self._ladder.allows(EXPRESSION):
            swap = swap.model_copy(update={"expression": 0.0})
        patch = self._engine.swap(frame, track, plan.identity, swap, self._stream)
        if patch is not None:
            if self._occlusion is not None:
                self._occlusion.keep(patch, track, plan.most_kept, self._stream)
            if self._enhancer is not None and (self._ladder is None or self._ladder.allows(ENHANCE)):
                self._enhancer.restore(frame, patch, track, swap.enhance_blend, self._stream)
            self._blender.blend(frame, patch, track, plan.swap, self._stream)

    def _leave(self, frame: Frame, covered: Covered, plan: RenderPlan, outcome: Outcome) -> RenderedFrame:
        if covered.buffer is not frame.buffer:
            # A slate or a held picture: it carries its badge and mark already, and others may be reading it.
            # What was begun in the frame's own pixels must be over before their slot is written again.
            frame.buffer.after(self._stream.record())
            return RenderedFrame(frame.with_buffer(covered.buffer), outcome)
        if plan.safety.badge:
            self._badge.stamp(frame, self._stream, plan.safety.badge_text)
        if plan.mark is not None:
            self._mark.stamp(frame, plan.mark, self._stream)
        rendered = frame.with_buffer(frame.buffer.after(self._stream.record()))
        if outcome is not Outcome.RAW:
            self._policy.remember(rendered)
        return RenderedFrame(rendered, outcome)


def _outcome(seen: list[FaceTrack], item: AnalysedFrame, covered: Covered, hiding: float) -> Outcome:
    if not covered.hidden or (seen and hiding < LEAST_OPACITY):
        return Outcome.RAW
    if len(seen) < len(item.tracks):
        return Outcome.SAFE
    return Outcome.SWAPPED if seen else Outcome.CLEAR
