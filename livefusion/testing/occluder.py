"""A stand-in for the network that finds what is in front of a face: whatever is bright green is."""

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from livefusion.devices.device import Array, Device
from livefusion.inference.loaded import Lane

SIDE = 32
GREEN = (160, 60, 60)
"""Y, Cb, Cr of what counts as in front of a face."""
_LEAST_GREEN = 0.35


class GreenScreen:
    """What is loaded of it (``blend.occlusion.CropNetwork``); on a lane where a GPU's would be."""

    def __init__(self, device: Device | None = None) -> None:
        shared = device is None or device.shares_host_memory
        self.lane = None if device is None or shared else Lane(device.stream("occluder"), threading.Lock())
        self.runs = 0

    def dtype_of(self, tensor: str) -> str:
        """Float32."""
        return "float32"

    def shape_of(self, tensor: str) -> tuple[int, ...]:
        """That of a small crop."""
        return (1, 3, SIDE, SIDE) if tensor == "image" else (1, 1, SIDE, SIDE)

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> "_Bound":
        """Tie it to buffers."""
        assert outputs is not None, "it runs on fixed buffers alone"
        return _Bound(self, inputs["image"], outputs["occlusion"])

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Never called on the live path."""
        raise NotImplementedError


class _Bound:
    """Tied to an image and an answer."""

    def __init__(self, network: GreenScreen, image: Array, answer: Array) -> None:
        self._network, self._image, self._answer = network, image, answer

    def prepare(self, undisturbed: AbstractContextManager[Any, Any]) -> None:
        """Nothing is captured."""

    def run(self) -> None:
        """Mark what is more green than red and blue."""
        self._network.runs += 1
        red, green, blue = self._image[0]
        self._answer[0, 0] = (green - np.maximum(red, blue)) > _LEAST_GREEN
