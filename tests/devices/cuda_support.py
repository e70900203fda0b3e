"""What the tests of the CUDA device share: pictures of noise on a device, blends enough for a graph."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.registry import BLEND_YUVA
from livefusion.testing.host_twin import compiler

MARKS = [
    pytest.mark.unit,
    pytest.mark.skipif(compiler() is None, reason="no C++ compiler for the host twin"),
]


def picture(device: Device, stream: Stream) -> dict[str, Array]:
    """``luma``, ``chroma`` and ``patch`` of noise on a device."""
    rng = np.random.default_rng(0)
    shapes = {"luma": (32, 48), "chroma": (16, 24, 2), "patch": (20, 24, 4)}
    arrays = {name: device.empty(shape, np.uint8) for name, shape in shapes.items()}
    for array in arrays.values():
        device.copy(array, rng.integers(0, 256, array.shape, np.uint8), stream)
    return arrays


def blend(device: Device, arrays: dict[str, Any], stream: Stream, times: int = 6) -> None:
    """Enough launches for a graph."""
    for index in range(times):
        device.launch(BLEND_YUVA, arrays | {"x": 2 * (index % 12), "y": 4}, stream)
    stream.record().synchronize()


def blended(device: Device, stream: Stream, times: int) -> list[Any]:
    """A picture after so many blends, read back."""
    arrays = picture(device, stream)
    blend(device, arrays, stream, times)
    return [device.to_host(arrays[name]) for name in ("luma", "chroma")]


def in_thread(work: Callable[[], object]) -> None:
    """Run work in a thread that has not met CUDA, and raise what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # border: told to the test
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
