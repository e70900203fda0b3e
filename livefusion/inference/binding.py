"""A network tied to fixed buffers: running it again costs no allocation, no copy and no look-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from livefusion.core.errors import GraphError
from livefusion.inference.engine import translated

# NumPy arrays on the CPU; anything with __cuda_array_interface__ on CUDA.
Array = Any


@dataclass(frozen=True, slots=True)
class Memory:
    """Where ONNX Runtime finds bound buffers: its device word and index."""

    kind: str
    index: int


class Binding:
    """Inputs and outputs of one session at fixed addresses; made by `Session.bind`.

    Whoever runs the binding writes `inputs` in place before `run` and reads `outputs` after it. Not safe for
    two threads at once.
    """

    def __init__(
        self,
        session: Any,
        name: str,
        memory: Memory,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
    ) -> None:
        self._session = session
        self._name = name
        self._memory = memory
        self._binding = session.io_binding()
        self.inputs: dict[str, Array] = {}
        self.outputs: dict[str, Array] = dict(outputs)
        for tensor, array in inputs.items():
            self.set_input(tensor, array)
        for tensor, array in self.outputs.items():
            self._binding.bind_output(tensor, *self._address(tensor, array))

    def set_input(self, tensor: str, array: Array) -> None:
        """Read `tensor` from `array` from the next run on; nothing is copied.

        Raises GraphError unless the array is C-contiguous.
        """
        if self.inputs.get(tensor) is array:
            return
        self._binding.bind_input(tensor, *self._address(tensor, array))
        self.inputs[tensor] = array

    def run(self) -> None:
        """Run the network once: reads `inputs`, overwrites `outputs`. Raises DeviceError."""
        with translated(self._name):
            self._session.run_with_iobinding(self._binding)

    def _address(self, tensor: str, array: Array) -> tuple[str, int, np.dtype[Any], tuple[int, ...], int]:
        """Return (device, index, dtype, shape, pointer) as IOBinding takes them."""
        if not array.flags.c_contiguous:
            raise GraphError(f"tensor {tensor} of model {self._name} is not contiguous")
        if isinstance(array, np.ndarray):
            pointer = array.ctypes.data
        else:
            pointer = array.__cuda_array_interface__["data"][0]
        return self._memory.kind, self._memory.index, array.dtype, array.shape, pointer
