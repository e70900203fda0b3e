"""The render stage: cover what must be covered, swap what can be swapped, say that the picture was altered."""

from dataclasses import dataclass

from livefusion.blend.blender import Blender
from livefusion.core.events import Discontinuity, Event, Flush, FormatChange
from livefusion.core.face import AnalysedFrame, FaceTrack, Identity, TrackState
from livefusion.core.frame import Frame, Outcome, RenderedFrame
from livefusion.core.settings import SafetySettings, SwapSettings
from livefusion.devices.device import Device, Stream
from livefusion.pipeline.badge import BadgeStamp
from livefusion.pipeline.safety import Covered, SafetyPolicy
from livefusion.runtime.stage import Drop, StageContext
from livefusion.swap.engine import SwapEngine


@dataclass(frozen=True, slots=True)
class RenderPlan:
    """What to make of the faces: an immutable snapshot, read once a frame and switched by reference."""

    identity: Identity
    swap: SwapSettings
    safety: SafetySettings


class RenderStage:
    """Turns an analysed frame into one that is fit to leave the graph, changing its pixels in place."""

    def __init__(self, device: Device, engine: SwapEngine, plan: RenderPlan) -> None:
        self._device = device
        self._engine = engine
        self._plan = plan
        self._stream: Stream = device.stream("render")
        self._policy = SafetyPolicy(device, self._stream)
        self._blender = Blender(device)
        self._badge = BadgeStamp(device)

    def switch(self, plan: RenderPlan) -> None:
        """Use another plan from the next frame on; its identity must have been prepared in the engine."""
        self._plan = plan

    def open(self, context: StageContext) -> None:
        """Prepare the engine for the identity of the plan."""
        self._engine.prepare(self._plan.identity)

    def process(self, item: AnalysedFrame) -> RenderedFrame | Drop:
        """Swap or cover every known face; cover the picture where faces may be unknown."""
        plan, frame = self._plan, item.frame
        self._stream.wait(frame.buffer.ready)
        if not item.trusted:
            return self._finish(frame, plan, self._policy.cover_picture(frame, plan.safety))
        visible = [track for track in item.tracks if track.state is TrackState.SEEN]
        hidden = [track.box for track in item.tracks if track.state is not TrackState.SEEN]
        covered = Covered(frame.buffer, hidden=True, whole=False)
        if hidden:
            covered = self._policy.cover(frame, hidden, plan.safety)
        if covered.whole:
            return self._finish(frame, plan, covered)
        for track in visible:
            self._swap(frame, track, plan)
        outcome = Outcome.CLEAR
        if hidden:
            outcome = Outcome.SAFE if covered.hidden else Outcome.RAW
        elif visible:
            outcome = Outcome.SWAPPED
        return self._leave(frame, plan, outcome)

    def fallback(self, item: AnalysedFrame, error: BaseException | None) -> RenderedFrame | Drop:
        """Cover the whole picture: the swap may have stopped half-way through it."""
        frame, plan = item.frame, self._plan
        self._stream.wait(frame.buffer.ready)
        return self._finish(frame, plan, self._policy.cover_picture(frame, plan.safety))

    def handle(self, event: Event) -> None:
        """Forget what was smoothed or held when the picture jumps."""
        if isinstance(event, Discontinuity | Flush | FormatChange):
            self._blender.reset()
            self._policy.forget()

    def close(self) -> None:
        """Nothing to give back: buffers go with the stage."""

    def _swap(self, frame: Frame, track: FaceTrack, plan: RenderPlan) -> None:
        patch = self._engine.swap(frame, track, plan.identity, plan.swap, self._stream)
        if patch is not None:
            self._blender.blend(frame, patch, track, plan.swap, self._stream)

    def _finish(self, frame: Frame, plan: RenderPlan, covered: Covered) -> RenderedFrame:
        if covered.buffer is not frame.buffer:  # held: it carries its badge and is only read from now on
            return RenderedFrame(frame.with_buffer(covered.buffer), Outcome.SAFE)
        return self._leave(frame, plan, Outcome.SAFE if covered.hidden else Outcome.RAW)

    def _leave(self, frame: Frame, plan: RenderPlan, outcome: Outcome) -> RenderedFrame:
        if plan.safety.badge:
            self._badge.stamp(frame, self._stream)
        rendered = frame.with_buffer(frame.buffer.after(self._stream.record()))
        if outcome is not Outcome.RAW:
            self._policy.remember(rendered)
        return RenderedFrame(rendered, outcome)
