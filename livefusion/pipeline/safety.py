"""The safety policy: what is shown where a face is known and cannot be swapped.

It fails closed. Every way out of it covers the face, covers the picture, or is the explicit choice ``pass``,
which is counted as a raw frame.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from livefusion.core.frame import Buffer, Frame
from livefusion.core.geometry import Box, Region
from livefusion.core.settings import MissingFacePolicy, SafetySettings
from livefusion.devices.device import Device, Stream
from livefusion.ops.registry import BLUR_REGION
from livefusion.pipeline.slate import SlateShelf

COVER_GROWTH = 1.6
"""A face box covers brows to chin; hair, ears and the error of a prediction lie within this factor of it."""
FACE_CELLS, PICTURE_CELLS = 8, 16
"""Cells of the blur across a face and a picture: even a face that fills a picture is then six cells high."""
FEATHER = 0.1
"""How far the blur fades out beyond the box, as a share of the box's width."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What the policy made of a picture.

    ``buffer`` holds what is to be shown; ``hidden`` says that no known face can be seen, ``whole`` that the
    whole picture was covered or replaced, so that nothing else is left to do in it.
    """

    buffer: Buffer
    hidden: bool
    whole: bool


class SafetyPolicy:
    """Covers faces or whole pictures. Belongs to the render thread and its stream."""

    def __init__(self, device: Device, stream: Stream, slates: SlateShelf) -> None:
        self._device = device
        self._stream = stream
        self._slates = slates
        self._last: Frame | None = None
        self._holds = 0

    def remember(self, frame: Frame) -> None:
        """Note the newest picture that was fit to show, for ``hold``."""
        self._last, self._holds = frame, 0

    def forget(self) -> None:
        """Hold nothing across a flush or a change of format."""
        self._last, self._holds = None, 0

    def cover(self, frame: Frame, faces: Sequence[Box], settings: SafetySettings) -> Covered:
        """Deal with faces that must not be seen; the others of the frame may still be swapped afterwards."""
        if settings.on_missing_face is not MissingFacePolicy.BLUR:
            return self.cover_picture(frame, settings)
        for face in faces:
            region = Region.covering(face.grown(COVER_GROWTH), frame.size)
            self._blur(frame, region, FACE_CELLS, int(face.width * FEATHER) & ~1)
        return Covered(frame.buffer, hidden=True, whole=False)

    def cover_picture(self, frame: Frame, settings: SafetySettings) -> Covered:
        """Deal with a picture in which faces may be that nobody knows."""
        match settings.on_missing_face:
            case MissingFacePolicy.PASS:
                return Covered(frame.buffer, hidden=False, whole=False)
            case MissingFacePolicy.BLUR:
                self._blur(frame, Region(0, 0, frame.size.width, frame.size.height), PICTURE_CELLS, 0)
                return Covered(frame.buffer, hidden=True, whole=True)
            case MissingFacePolicy.HOLD:
                return Covered(self._held(frame, settings) or self._slate(frame), hidden=True, whole=True)
            case MissingFacePolicy.SAFE:
                return Covered(self._slate(frame), hidden=True, whole=True)

    def _held(self, frame: Frame, settings: SafetySettings) -> Buffer | None:
        last = self._last
        if last is None or last.size != frame.size or self._holds >= settings.hold_frames:
            return None
        self._holds += 1
        return last.buffer

    def _slate(self, frame: Frame) -> Buffer:
        return self._slates.picture(frame)

    def _blur(self, frame: Frame, region: Region, cells: int, feather: int) -> None:
        if region.empty:
            return
        arguments = {
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "x": region.x,
            "y": region.y,
            "width": region.width,
            "height": region.height,
            "cells": cells,
            "feather": feather,
        }
        self._device.launch(BLUR_REGION, arguments, self._stream)
