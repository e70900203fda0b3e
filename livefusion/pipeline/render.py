"""The render stage: cover what must be covered, swap what can be swapped, mark the picture as altered."""

from collections.abc import Callable
from dataclasses import dataclass

from livefusion.blend.blender import Blender
from livefusion.core.events import Discontinuity, Event, Flush, FormatChange
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.devices.device import Device
from livefusion.pipeline.badge import BadgeStamp
from livefusion.pipeline.safety import Covered, SafetyPolicy
from livefusion.pipeline.slate import SlateShelf
from livefusion.runtime.stage import Drop, StageContext
from livefusion.swap.engine import SwapEngine

LEAST_OPACITY = 0.5
"""A new face that lets more of the real one through than this does not hide it: the picture counts as raw."""


@dataclass(frozen=True, slots=True)
class RenderPlan:
    """What to make of the faces: an immutable snapshot, read once a frame and switched by reference."""

    identity: Identity
    swap: SwapSettings
    safety: SafetySettings

    @property
    def hiding(self) -> float:
        """How much of a face is hidden by the new one, in [0, 1]: paint lets the rest show."""
        return self.swap.opacity * self.identity.coverage


class RenderStage:
    """Turns an analysed frame into one that is fit to leave the graph, changing its pixels in place.

    ``current_plan`` gives the plan in force; an identity must have been prepared in ``engine`` before a plan
    with it comes into force, except the first, which ``open`` prepares.
    """

    def __init__(
        self,
        device: Device,
        engine: SwapEngine,
        current_plan: Callable[[], RenderPlan],
        slates: SlateShelf,
    ) -> None:
        self._engine = engine
        self._current_plan = current_plan
        self._stream = device.stream("render")
        self._policy = SafetyPolicy(device, self._stream, slates)
        self._blender = Blender(device)
        self._badge = BadgeStamp(device)

    def open(self, context: StageContext) -> None:
        """Prepare the identity, and compile what the first frame would have to wait for."""
        self._engine.prepare(self._current_plan().identity)
        self._engine.warm_up()
        self._blender.warm_up()

    def process(self, item: AnalysedFrame) -> RenderedFrame | Drop:
        """Swap or cover every known face; cover the picture where faces may be that nobody knows."""
        plan, frame = self._current_plan(), item.frame
        self._stream.wait(frame.buffer.ready)
        covered = self._cover(item, plan)
        if covered.whole or not item.trusted:
            return self._leave(frame, covered, plan, Outcome.SAFE if covered.hidden else Outcome.RAW)
        seen = [track for track in item.tracks if track.state is TrackState.SEEN]
        for track in seen:
            self._swap(frame, track, plan)
        return self._leave(frame, covered, plan, _outcome(seen, item, covered, plan.hiding))

    def fallback(self, item: AnalysedFrame, error: BaseException | None) -> RenderedFrame | Drop:
        """Cover the whole picture: the swap may have stopped half-way through it."""
        plan, frame = self._current_plan(), item.frame
        self._stream.wait(frame.buffer.ready)
        covered = self._policy.cover_picture(frame, plan.safety)
        return self._leave(frame, covered, plan, Outcome.SAFE if covered.hidden else Outcome.RAW)

    def handle(self, event: Event) -> None:
        """Forget what was smoothed or held when the picture jumps."""
        if isinstance(event, Discontinuity | Flush | FormatChange):
            self._blender.reset()
            self._policy.forget()

    def close(self) -> None:
        """Nothing to give back: the buffers go with the stage."""

    def _cover(self, item: AnalysedFrame, plan: RenderPlan) -> Covered:
        if not item.trusted:
            return self._policy.cover_picture(item.frame, plan.safety)
        lost = [track.box for track in item.tracks if track.state is not TrackState.SEEN]
        if not lost:
            return Covered(item.frame.buffer, hidden=True, whole=False)
        return self._policy.cover(item.frame, lost, plan.safety)

    def _swap(self, frame: Frame, track: FaceTrack, plan: RenderPlan) -> None:
        patch = self._engine.swap(frame, track, plan.identity, plan.swap, self._stream)
        if patch is not None:
            self._blender.blend(frame, patch, track, plan.swap, self._stream)

    def _leave(self, frame: Frame, covered: Covered, plan: RenderPlan, outcome: Outcome) -> RenderedFrame:
        if covered.buffer is not frame.buffer:
            # A slate or a held picture: it carries its badge already, and others may be reading it. What was
            # begun in the frame's own pixels must be over before their slot is written again.
            frame.buffer.after(self._stream.record())
            return RenderedFrame(frame.with_buffer(covered.buffer), outcome)
        if plan.safety.badge:
            self._badge.stamp(frame, self._stream)
        rendered = frame.with_buffer(frame.buffer.after(self._stream.record()))
        if outcome is not Outcome.RAW:
            self._policy.remember(rendered)
        return RenderedFrame(rendered, outcome)


def _outcome(seen: list[FaceTrack], item: AnalysedFrame, covered: Covered, opacity: float) -> Outcome:
    if not covered.hidden or (seen and opacity < LEAST_OPACITY):
        return Outcome.RAW
    if len(seen) < len(item.tracks):
        return Outcome.SAFE
    return Outcome.SWAPPED if seen else Outcome.CLEAR
