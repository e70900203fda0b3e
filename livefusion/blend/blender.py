"""The last step of a swap: the patch is coloured like the scene and blended into the frame, in place."""

import numpy as np

from livefusion.blend.colour import ColourMatcher
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.geometry import Region
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.reference.colour import CELL
from livefusion.ops.registry import BLEND_YUVA, COLOUR_STATS, COLOUR_TRANSFER, LIGHT_FIELD, SCALE_ALPHA


class Blender:
    """Blends patches into frames. Used on one thread and one stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._colours = ColourMatcher(device)

    def blend(
        self, frame: Frame, patch: Patch, track: FaceTrack, settings: SwapSettings, stream: Stream
    ) -> None:
        """Colour the patch and blend it into the frame; the patch's pixels are changed too.

        Bytes outside the patch's region, and where its alpha is 0, stay as they are.
        """
        stream.wait(patch.ready)
        self._colours.match(frame, patch, track.id, settings, stream)
        if settings.opacity < 1:
            opacity = {"patch": patch.pixels, "factor": float(settings.opacity)}
            self._device.launch(SCALE_ALPHA, opacity, stream)
        self._paste(frame.buffer.luma, frame.buffer.chroma, patch.pixels, patch.region, stream)

    def reset(self) -> None:
        """Forget what was smoothed over time: the picture has jumped."""
        self._colours.reset()

    def warm_up(self) -> None:
        """Compile the operators on a picture of one cell."""
        stream, device = self._device.stream("warm-up"), self._device
        side = CELL
        luma, chroma = (
            device.empty((side, side), np.uint8),
            device.empty((side // 2, side // 2, 2), np.uint8),
        )
        patch, stats = device.empty((side, side, 4), np.uint8), device.empty((3, 4), np.float32)
        cells, light = device.empty((1, 1, 7), np.float32), device.empty((1, 1, 3), np.float32)
        for array in (luma, chroma, patch, stats):
            device.copy(array, np.zeros(array.shape, array.dtype), stream)
        place = {"patch": patch, "luma": luma, "chroma": chroma, "x": 0, "y": 0}
        device.launch(COLOUR_STATS, place | {"momentum": 0.0, "stats": stats, "cells": cells}, stream)
        device.launch(LIGHT_FIELD, {"cells": cells, "stats": stats, "radius": 1, "light": light}, stream)
        shading = {"patch": patch, "stats": stats, "light": light, "strength": 0.0}
        device.launch(COLOUR_TRANSFER, shading, stream)
        device.launch(SCALE_ALPHA, {"patch": patch, "factor": 1.0}, stream)
        self._paste(luma, chroma, patch, Region(0, 0, side, side), stream)
        stream.synchronize()

    def _paste(self, luma: Array, chroma: Array, patch: Array, region: Region, stream: Stream) -> None:
        arguments = {"luma": luma, "chroma": chroma, "patch": patch, "x": region.x, "y": region.y}
        self._device.launch(BLEND_YUVA, arguments, stream)
