"""The last step of a swap: the patch is coloured like the scene and blended into the frame, in place."""

import numpy as np

from livefusion.blend.colour import ColourMatcher
from livefusion.blend.detail import DetailMatcher
from livefusion.core.face import FaceTrack
from livefusion.core.frame import Frame
from livefusion.core.patch import Patch
from livefusion.core.settings import SwapSettings
from livefusion.devices.device import Device, Stream
from livefusion.ops.reference.colour import CELL
from livefusion.ops.reference.detail import DETAIL_SHAPE
from livefusion.ops.reference.grain import frame_seed
from livefusion.ops.registry import (
    BLEND_MATCHED,
    COLOUR_STATS,
    LIGHT_FIELD,
    MEASURE_DETAIL,
    SOFTEN_PATCH,
)


class Blender:
    """Blends patches into frames. Used on one thread and one stream."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._colours = ColourMatcher(device)
        self._details = DetailMatcher(device)

    def blend(
        self, frame: Frame, patch: Patch, track: FaceTrack, settings: SwapSettings, stream: Stream
    ) -> None:
        """Make the patch as soft, as grainy and as coloured as the frame, and blend it in.

        Bytes outside the patch's region, and where its alpha is 0, stay as they are.
        """
        stream.wait(patch.ready)
        detail = self._details.match(frame, patch, track.id, stream)
        arguments = self._colours.match(frame, patch, track.id, settings, stream) | {
            "strength": 1.0,
            "opacity": float(settings.opacity),
            "detail": detail,
            "grain": float(settings.grain),
            "seed": frame_seed(frame.seq),
            "patch": patch.pixels,
            "luma": frame.buffer.luma,
            "chroma": frame.buffer.chroma,
            "x": patch.region.x,
            "y": patch.region.y,
        }
        self._device.launch(BLEND_MATCHED, arguments, stream)

    def reset(self) -> None:
        """Forget what was smoothed over time: the picture has jumped."""
        self._colours.reset()
        self._details.reset()

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
        detail = device.empty(DETAIL_SHAPE, np.float32)
        for array in (luma, chroma, patch, stats, detail):
            device.copy(array, np.zeros(array.shape, array.dtype), stream)
        place = {"patch": patch, "luma": luma, "chroma": chroma, "x": 0, "y": 0}
        momenta = {"step": 1, "momentum": 0.0, "noise_momentum": 0.0}
        measured = {"patch": patch, "luma": luma, "x": 0, "y": 0, "detail": detail}
        device.launch(MEASURE_DETAIL, measured | momenta, stream)
        device.launch(SOFTEN_PATCH, {"patch": patch, "detail": detail}, stream)
        device.launch(COLOUR_STATS, place | {"momentum": 0.0, "stats": stats, "cells": cells}, stream)
        field = {"radius": 1, "rim_radius": 0, "relight": 0.0, "rim": 1.0}
        device.launch(LIGHT_FIELD, field | {"cells": cells, "stats": stats, "light": light}, stream)
        colours = {"stats": stats, "light": light, "strength": 0.0, "opacity": 1.0}
        colours |= {"detail": detail, "grain": 0.0, "seed": 0}
        device.launch(BLEND_MATCHED, place | colours, stream)
        stream.synchronize()
