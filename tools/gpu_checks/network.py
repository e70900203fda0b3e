"""A network of the size of inswapper_128 in FP16 (349 GFLOP), with whatever engine is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gpu_checks.machine import Machine
from livefusion.devices.cuda.library import current
from livefusion.devices.cuda.stream import CudaStream

CHANNELS, SIDE, LAYERS = 1024, 32, 18
"""So many convolutions of 3 × 3 on a map of this side: twelve are inswapper's body, six its head and tail."""
GFLOP = 2 * 9 * CHANNELS * CHANNELS * SIDE * SIDE * LAYERS / 1e9


class Network(Protocol):
    """Runs once on a stream."""

    name: str

    def run(self, stream: CudaStream) -> None:
        """Put the whole network on the stream."""
        ...


def build(machine: Machine) -> Network:
    """The first engine that works; one that does nothing, and says why, if there is none."""
    if machine.stands_in:
        return _Nothing("none")
    reasons = []
    for make in (_Torch, _Gemm):
        try:
            return make(machine)
        except Exception as error:  # border: foreign engines fail in any way, and the next one may work
            reasons.append(f"{make.__name__.strip('_')}: {type(error).__name__}: {error}")
    return _Nothing(f"none: {'; '.join(reasons)}")


class _Nothing:
    """Leaves the frame's own work, which is worth measuring too."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, stream: CudaStream) -> None:
        """Nothing."""


class _Torch:
    """Convolutions of cuDNN, captured as one CUDA graph."""

    name = f"PyTorch convolutions, CUDA graph, {GFLOP:.0f} GFLOP"

    def __init__(self, machine: Machine) -> None:
        import torch

        self._torch = torch
        torch.backends.cudnn.benchmark = True
        layers = [
            layer
            for _ in range(LAYERS)
            for layer in (torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False), torch.nn.ReLU())
        ]
        place = torch.device("cuda", machine.device.index)
        self._net: Any = torch.nn.Sequential(*layers).half().to(place).to(memory_format=torch.channels_last)
        image = torch.randn(1, CHANNELS, SIDE, SIDE, device=place, dtype=torch.float16)
        self._image = image.to(memory_format=torch.channels_last)
        with torch.inference_mode():
            for _ in range(3):
                self._net(self._image)
            torch.cuda.synchronize()
            self._graph: Any = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._out = self._net(self._image)
        torch.cuda.synchronize()
        self._streams: dict[int, Any] = {}

    def run(self, stream: CudaStream) -> None:
        """Replay the graph."""
        own = self._streams.get(stream.handle)
        if own is None:
            own = self._streams[stream.handle] = self._torch.cuda.ExternalStream(stream.handle)
        with self._torch.cuda.stream(own):
            self._graph.replay()


class _Gemm:
    """The same multiplications as products of matrices, where only cuBLAS is there."""

    name = f"cuBLAS products of the same size, {GFLOP:.0f} GFLOP"

    def __init__(self, machine: Machine) -> None:
        self._cupy = machine.cupy
        rng = np.random.default_rng(0)
        weights = rng.normal(0, 0.01, (9 * CHANNELS, CHANNELS)).astype(np.float16)
        self._weights = [machine.cupy.asarray(weights) for _ in range(LAYERS)]
        self._columns = machine.cupy.zeros((SIDE * SIDE, 9 * CHANNELS), np.float16)
        self._out = machine.cupy.zeros((SIDE * SIDE, CHANNELS), np.float16)
        machine.device.synchronize()  # the arrays were made on the default stream
        self.run(machine.stream("warm-up"))
        machine.device.synchronize()

    def run(self, stream: CudaStream) -> None:
        """Multiply."""
        with current(self._cupy, stream):
            for weights in self._weights:
                self._cupy.matmul(self._columns, weights, out=self._out)


Build = Callable[[Machine], Network]
