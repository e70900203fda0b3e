"""The path of a frame on the GPU without what needs other libraries: upload, crop, draw, colour, blend.

It is made of the product's pool, device and operators, on a stream for each stage, as the graph uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_checks import cases
from gpu_checks.machine import Machine, upload
from livefusion.core.color import ColorInfo
from livefusion.core.geometry import Affine, Size
from livefusion.devices.cuda.device import CudaDevice
from livefusion.devices.cuda.stream import CudaStream
from livefusion.devices.device import Event
from livefusion.devices.pool import DeviceBuffer, FramePool
from livefusion.ops import registry

CROP = 256
Between = Callable[[CudaStream], None]


class FramePath:
    """Upload → analyse → render → download; ``between`` is called before each stage's work, for mischief.

    So many ``frames`` may be under way at once.
    """

    def __init__(
        self,
        machine: Machine,
        size: Size,
        device: CudaDevice,
        between: Between = lambda _stream: None,
        *,
        frames: int = 1,
    ) -> None:
        self.device, self.size = device, size
        self._between = between
        self.decode, self.analyse, self.render, self.encode = (
            machine.stream(name, device) for name in ("decode", "analyse", "render", "encode")
        )
        self._pool = FramePool(device, size, limit=2)
        self._crop = device.empty((1, 3, CROP, CROP), np.float32)
        self._crops = [device.pinned((1, 3, CROP, CROP), np.float32) for _ in range(frames)]
        self._outs = [device.pinned((size.height * 3 // 2, size.width), np.uint8) for _ in range(frames)]
        self._frame = 0
        rng = np.random.default_rng(2)
        drawn = cases.mesh(size.height, rng)
        coloured = cases.CASES[0].make(size.width, size.height, rng)
        self._mesh = upload(device, self.render, drawn)
        self._patch = device.empty(cases.patch(size.height, rng).shape, np.uint8)
        self._stats = upload(device, self.render, {"stats": np.zeros((3, 4), np.float32)})
        self._detail = upload(device, self.render, {"detail": np.zeros((3, 6), np.float32)})["detail"]
        cells, light = cases.grids(size.height)
        self._cells, self._light = device.empty(cells, np.float32), device.empty(light, np.float32)
        self._color: ColorInfo = coloured["color"]
        device.synchronize()

    def put(self, picture: np.ndarray[Any, Any], place: tuple[int, int]) -> Event:
        """Send one (h·3/2, w) picture in pinned memory down the path, with the face at ``place``; its end."""
        return self.download(self.draw(self.look(self.upload(picture), place), place))

    def results(self, frame: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Picture and crop of a frame, from its end until as many others as may be under way begin."""
        return self._outs[frame % len(self._outs)], self._crops[frame % len(self._crops)]

    def upload(self, picture: np.ndarray[Any, Any]) -> DeviceBuffer:
        """The decoder's part: into a slot."""
        buffer = self._pool.acquire(self.decode)
        self._between(self.decode)
        self.device.copy(buffer.nv12, picture, self.decode)
        return buffer.after(self.decode.record())

    def look(self, buffer: DeviceBuffer, place: tuple[int, int]) -> DeviceBuffer:
        """The analysis' part: a crop for a network, read back."""
        self.analyse.wait(buffer.ready)
        self._between(self.analyse)
        arguments = {
            "luma": buffer.luma,
            "chroma": buffer.chroma,
            "out": self._crop,
            "matrices": [Affine.similarity(0.7, 0.1, place, (CROP / 2, CROP / 2))],
            "color": self._color,
        }
        self.device.launch(registry.NV12_WARP_NORM, arguments, self.analyse)
        self.device.copy(self._crops[self._frame % len(self._crops)], self._crop, self.analyse)
        return buffer.after(self.analyse.record())

    def draw(self, buffer: DeviceBuffer, place: tuple[int, int]) -> DeviceBuffer:
        """The render stage's part: mesh, colours, blend."""
        stream, launch = self.render, self.device.launch
        stream.wait(buffer.ready)
        self._between(stream)
        mesh, patch, stats = self._mesh, self._patch, self._stats["stats"]
        picture = {"luma": buffer.luma, "chroma": buffer.chroma}
        at = {"x": place[0], "y": place[1]}
        launch(registry.DRAW_MESH, mesh | {"patch": patch}, stream)
        sample = {"patch": patch, "luma": buffer.luma, "detail": self._detail, "step": 4}
        launch(registry.MEASURE_DETAIL, sample | at | {"momentum": 0.7, "noise_momentum": 0.9}, stream)
        launch(registry.SOFTEN_PATCH, {"patch": patch, "detail": self._detail}, stream)
        measure = picture | at | {"patch": patch, "momentum": 0.0, "stats": stats, "cells": self._cells}
        launch(registry.COLOUR_STATS, measure, stream)
        shares = {"radius": 5, "rim_radius": 1, "relight": 0.8, "rim": 1.0}
        field = {"cells": self._cells, "stats": stats, "light": self._light}
        launch(registry.LIGHT_FIELD, field | shares, stream)
        self._between(stream)
        colours = {"stats": stats, "light": self._light, "strength": 1.0, "opacity": 1.0}
        colours |= {"detail": self._detail, "grain": 1.0, "seed": self._frame}
        launch(registry.BLEND_MATCHED, picture | at | {"patch": patch} | colours, stream)
        return buffer.after(stream.record())

    def download(self, buffer: DeviceBuffer) -> Event:
        """The encoder's part where there is no NVENC: one copy to pinned memory."""
        self.encode.wait(buffer.ready)
        self._between(self.encode)
        self.device.copy(self._outs[self._frame % len(self._outs)], buffer.nv12, self.encode)
        self._frame += 1
        done = self.encode.record()
        buffer.read_until(done, self.encode)
        return done


def pinned_picture(device: CudaDevice, size: Size, seed: int) -> np.ndarray[Any, Any]:
    """A picture of noise in pinned memory."""
    picture = device.pinned((size.height * 3 // 2, size.width), np.uint8)
    picture[:] = np.random.default_rng(seed).integers(0, 256, picture.shape, np.uint8)
    return picture
