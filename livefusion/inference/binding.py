"""A network tied to fixed buffers: running it again costs no allocation, no copy and no look-up."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from livefusion.core.errors import GraphError
from livefusion.inference.engine import NO_GRAPH, run_options
from livefusion.inference.failures import translated
from livefusion.inference.provider import Place

# NumPy arrays in host memory; anything with __cuda_array_interface__ on CUDA.
Array = Any

_PLAIN_RUNS = 2
"""Before a graph is captured: in the first one cuDNN chooses algorithms, and the arena takes memory."""


class Binding:
    """Inputs and outputs of one session at fixed addresses; made by `Session.bind`.

    Whoever runs the binding writes `inputs` in place before `run` and reads `outputs` after it. With `wait`
    they are there when `run` returns; else they come in the order of the network's stream. With a `graph` id
    the run is captured as a CUDA graph by `prepare` and replayed from then on. Not safe for two threads at
    once; two bindings of one session may run at once on the CPU.
    """

    def __init__(
        self,
        session: Any,
        name: str,
        place: Place,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        *,
        wait: bool = True,
        graph: int = NO_GRAPH,
    ) -> None:
        self._session = session
        self._name = name
        self._place = place
        self._graph = graph
        self._options: Any = run_options(wait=wait, graph=graph) if place.on_cuda else None
        self._binding = session.io_binding()
        self.inputs: dict[str, Array] = {}
        self.outputs: dict[str, Array] = dict(outputs)
        for tensor, array in inputs.items():
            self.set_input(tensor, array)
        for tensor, array in self.outputs.items():
            self._binding.bind_output(tensor, *self._address(tensor, array))

    def set_input(self, tensor: str, array: Array) -> None:
        """Read `tensor` from `array` from the next run on; nothing is copied.

        Raises GraphError unless the array is C-contiguous, or once the addresses are part of a graph.
        """
        if self.inputs.get(tensor) is array:
            return
        if self._graph != NO_GRAPH and tensor in self.inputs:
            raise GraphError(f"model {self._name} is captured with another {tensor}")
        self._binding.bind_input(tensor, *self._address(tensor, array))
        self.inputs[tensor] = array

    def prepare(self, undisturbed: AbstractContextManager[Any, Any]) -> None:
        """Capture the run, where that is wanted; on the thread that will run it, and off the live path.

        `undisturbed` is entered for the capture alone, not for the seconds that cuDNN may take before it.
        Raises DeviceError like `run`, and leaves `outputs` undefined.
        """
        if self._graph == NO_GRAPH:
            return
        for _ in range(_PLAIN_RUNS):
            self._run(run_options(wait=True))
        with undisturbed:
            self._run(run_options(wait=True, graph=self._graph))

    def run(self) -> None:
        """Run the network once: reads `inputs`, overwrites `outputs`. Raises DeviceError."""
        self._run(self._options)

    def _run(self, options: Any) -> None:
        with translated(self._name):
            self._session.run_with_iobinding(self._binding, options)

    def _address(self, tensor: str, array: Array) -> tuple[str, int, np.dtype[Any], tuple[int, ...], int]:
        """Return (device, index, dtype, shape, pointer) as IOBinding takes them."""
        if not array.flags.c_contiguous:
            raise GraphError(f"tensor {tensor} of model {self._name} is not contiguous")
        if isinstance(array, np.ndarray):
            return "cpu", 0, array.dtype, array.shape, array.ctypes.data
        pointer = array.__cuda_array_interface__["data"][0]
        return self._place.kind, self._place.index, array.dtype, array.shape, pointer
