"""The safety policy: what is shown where a face is known and cannot be swapped.

It fails closed. Every way out of it either covers the face, covers the picture, or is the explicit choice
``pass``, which is counted as a raw frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from livefusion.core.color import ColorInfo
from livefusion.core.frame import Buffer, Frame
from livefusion.core.geometry import Box, Region, Size
from livefusion.core.settings import MissingFacePolicy, SafetySettings
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.registry import BLUR_REGION
from livefusion.provenance.badge import slate

COVER_GROWTH = 1.6
"""A face box covers brows to chin; hair, ears and the error of a prediction lie within this factor of it."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What the policy made of a frame: its pixels, whether a known face is hidden, and whether the rest is void."""

    buffer: Buffer
    hidden: bool
    whole: bool


class SafetyPolicy:
    """Covers faces or whole pictures in place. Belongs to the render thread."""

    def __init__(self, device: Device, stream: Stream) -> None:
        self._device = device
        self._stream = stream
        self._slates: dict[tuple[Size, ColorInfo], tuple[Array, Array]] = {}
        self._held: Buffer | None = None
        self._held_size: Size | None = None
        self._holds = 0

    def remember(self, frame: Frame) -> None:
        """Note the newest picture that was fit to show, for ``hold``."""
        self._held, self._held_size, self._holds = frame.buffer, frame.size, 0

    def forget(self) -> None:
        """After a flush or a format change there is nothing left to hold."""
        self._held, self._held_size, self._holds = None, None, 0

    def cover(self, frame: Frame, faces: Sequence[Box], settings: SafetySettings) -> Covered:
        """Deal with faces that must not be seen; other faces of the frame may still be swapped afterwards."""
        match settings.on_missing_face:
            case MissingFacePolicy.PASS:
                return Covered(frame.buffer, hidden=False, whole=False)
            case MissingFacePolicy.BLUR:
                for face in faces:
                    self._blur(frame, Region.covering(face.grown(COVER_GROWTH), frame.size), whole=False)
                return Covered(frame.buffer, hidden=True, whole=False)
            case MissingFacePolicy.HOLD | MissingFacePolicy.SAFE:
                return self.cover_picture(frame, settings)

    def cover_picture(self, frame: Frame, settings: SafetySettings) -> Covered:
        """Deal with a picture in which unknown faces may be."""
        match settings.on_missing_face:
            case MissingFacePolicy.PASS:
                return Covered(frame.buffer, hidden=False, whole=False)
            case MissingFacePolicy.BLUR:
                self._blur(frame, Region(0, 0, frame.size.width, frame.size.height), whole=True)
                return Covered(frame.buffer, hidden=True, whole=True)
            case MissingFacePolicy.HOLD if self._may_hold(frame, settings):
                assert self._held is not None
                self._holds += 1
                return Covered(self._held, hidden=True, whole=True)
            case MissingFacePolicy.HOLD | MissingFacePolicy.SAFE:
                self._withhold(frame)
                return Covered(frame.buffer, hidden=True, whole=True)

    def _may_hold(self, frame: Frame, settings: SafetySettings) -> bool:
        return self._held is not None and self._held_size == frame.size and self._holds < settings.hold_frames

    def _blur(self, frame: Frame, region: Region, *, whole: bool) -> None:
        if region.empty:
            return
        self._device.launch(
            BLUR_REGION,
            {
                "luma": frame.buffer.luma,
                "chroma": frame.buffer.chroma,
                "x": region.x,
                "y": region.y,
                "width": region.width,
                "height": region.height,
                "ellipse": not whole,
            },
            self._stream,
        )

    def _withhold(self, frame: Frame) -> None:
        key = (frame.size, frame.color)
        if key not in self._slates:
            luma, chroma = slate(*key)
            planes = self._device.empty(luma.shape, luma.dtype), self._device.empty(chroma.shape, chroma.dtype)
            self._device.copy(planes[0], luma, self._stream)
            self._device.copy(planes[1], chroma, self._stream)
            self._slates[key] = planes
        planes = self._slates[key]
        self._device.copy(frame.buffer.luma, planes[0], self._stream)
        self._device.copy(frame.buffer.chroma, planes[1], self._stream)
