"""A network on fixed device buffers, launched in stream order like an operator."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from livefusion.devices.device import Array, Device, Stream


class Runnable(Protocol):
    """A network tied to buffers (``inference.binding.Binding``)."""

    def run(self) -> None:
        """Read the inputs, overwrite the outputs."""
        ...


class Loaded(Protocol):
    """A network that is ready to be tied to buffers (``inference.session.Session``)."""

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> Runnable:
        """Tie the network to fixed buffers."""
        ...

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Run once on host arrays; the outputs hold until the next run."""
        ...


class BoundNetwork:
    """One picture tensor in, named tensors out, all float32, in memory of the device that stays the same."""

    def __init__(
        self,
        device: Device,
        session: Loaded,
        name: str,
        image: tuple[int, ...],
        outputs: Mapping[str, tuple[int, ...]],
    ) -> None:
        self._device = device
        self._name = name
        self.image = device.empty(image, np.float32)
        self._outputs = {tensor: device.empty(shape, np.float32) for tensor, shape in outputs.items()}
        self._run = session.bind({"image": self.image}, self._outputs).run

    def launch(self, stream: Stream) -> None:
        """Run on what ``image`` holds by then."""
        writes = tuple(self._outputs.values())
        self._device.run(self._run, stream, reads=(self.image,), writes=writes, name=self._name)

    def output(self, tensor: str) -> npt.NDArray[Any]:
        """An output on the host; synchronise with the launch before reading."""
        return self._device.to_host(self._outputs[tensor])
