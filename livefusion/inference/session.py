"""One network, loaded and checked, ready to run on one device."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any

import numpy as np

from livefusion.core.errors import GraphError
from livefusion.devices.device import Device
from livefusion.devices.select import Fallback
from livefusion.inference.binding import Array, Binding
from livefusion.inference.engine import NO_GRAPH
from livefusion.inference.failures import translated
from livefusion.inference.loaded import Lane, load_network
from livefusion.inference.placement import Placement
from livefusion.inference.provider import place_of
from livefusion.inference.registry import ModelEntry, TensorSpec
from livefusion.inference.tensorrt import Builder

# A live source has one size, or two at a format change; photos of many sizes must not pile up buffers.
_MOST_BINDINGS = 4

# What reports call the type a network computes in; weights kept smaller in the file are widened at load.
_PRECISIONS = {"float32": "fp32", "float16": "fp16"}

_Shapes = tuple[tuple[int, ...], ...]


class Session:
    """One network on one device.

    Safe for one thread at a time, because outputs are reused; the network itself, which is large, is shared
    with every other session of the same file, place and options. `placement` says where its nodes really run.

    With a `device` whose memory is not the host's, bindings run on a stream of their own, `lane`, where they
    must be put (`inference.network.BoundNetwork` does). `graphs` has them captured as CUDA graphs. With
    `shapes_on_cpu` nodes that reckon with shapes may be left to the CPU, which `fallbacks` tells.

    Raises ModelError when the file is not the registered one or does not load, MachineError without ONNX
    Runtime, and DeviceError when the place is unknown or did not get the network.
    """

    def __init__(
        self,
        entry: ModelEntry,
        device_name: str = "cpu",
        *,
        device: Device | None = None,
        threads: int = 1,
        graphs: bool = False,
        shapes_on_cpu: bool = False,
    ) -> None:
        self.entry = entry
        self.device_name = device_name
        self._place = place_of(device_name)
        self._graphs = graphs and self._place.on_cuda
        self._network = load_network(
            entry,
            self._place,
            device,
            threads=threads,
            graphs=self._graphs,
            shapes_on_cpu=shapes_on_cpu,
        )
        self._session = self._network.runtime
        self.placement: Placement = self._network.placement
        self.lane = self._network.lane or _lane_beside(device, entry.name)
        self._specs = {spec.name: spec for spec in entry.inputs}
        self._dtypes = {spec.name: spec.dtype for spec in (*entry.inputs, *entry.outputs)}
        self._bindings: dict[_Shapes, Binding] = {}

    @property
    def precision(self) -> str:
        """Name of the type the network computes in: `fp32` or `fp16`."""
        dtype = "float32" if self.entry.widened else self.entry.computes or self.entry.inputs[0].dtype
        return _PRECISIONS.get(dtype, dtype)

    @property
    def takes_new_shapes(self) -> bool:
        """Whether a free axis may have another size at no cost: an engine would be built anew for it."""
        return self.placement.provider not in set(Builder)

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """What runs elsewhere than it was asked to, or in another precision."""
        found = []
        if self.entry.widened:
            found.append(Fallback(f"{self.entry.name} in fp16", "fp32", self.entry.widened))
        if self.placement.shapes:
            wanted = f"all of {self.entry.name} on {self.placement.provider}"
            reason = f"it leaves {', '.join(self.placement.shapes)} to the CPU, for shapes alone"
            found.append(Fallback(wanted, str(self.placement), reason))
        return tuple(found)

    def dtype_of(self, tensor: str) -> str:
        """Return the type of an input or output; raises GraphError for another name."""
        if tensor not in self._dtypes:
            raise GraphError(f"model {self.entry.name} has no tensor {tensor}")
        return self._dtypes[tensor]

    def shape_of(self, tensor: str) -> tuple[int, ...]:
        """Return the shape of an input or output; raises GraphError for another name or a free axis."""
        for spec in (*self.entry.inputs, *self.entry.outputs):
            if spec.name == tensor:
                return _shape(spec, {})
        raise GraphError(f"model {self.entry.name} has no tensor {tensor}")

    def empty_inputs(self, **axes: int) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Return new zeroed host arrays for every input; `axes` gives the sizes of named axes.

        `session.empty_inputs(height=192, width=320)["image"]` has shape (1, 3, 192, 320).
        Raises GraphError when a named axis is left out.
        """
        return {name: np.zeros(_shape(spec, axes), spec.dtype) for name, spec in self._specs.items()}

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> Binding:
        """Tie the network to fixed buffers and return the binding to run.

        Nothing is copied: `inputs` are read and `outputs` written in place at every `Binding.run`. Without
        `outputs` host arrays of the right shapes are made, which for an input of free size takes one run;
        then `Binding.run` waits for them. Raises GraphError when a tensor is missing or has another dtype or
        shape than the registry says.
        """
        self._check(inputs)
        wait = outputs is None or self.lane is None
        if outputs is None:
            outputs = self._make_outputs(inputs)
        captures = self._graphs and not wait and self.placement.is_complete
        graph = next(self._network.graph_ids) if captures else NO_GRAPH
        return Binding(self._session, self.entry.name, self._place, inputs, outputs, wait=wait, graph=graph)

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Run once and return the outputs, which the next run with the same input shapes overwrites.

        Inputs are read where they are. Buffers are made on the first run with some shapes and reused
        after it; passing the same array objects again skips even the checks.
        Raises GraphError for wrong inputs and DeviceError when the device fails.
        """
        binding = self._binding(inputs)
        with self.lane.lock if self.lane else nullcontext():
            binding.run()
        return MappingProxyType(binding.outputs)

    def warm_up(self, **axes: int) -> None:
        """Run once on zeros, so that the first frame pays for no lazy initialisation."""
        self.run(self.empty_inputs(**axes))

    def _binding(self, inputs: Mapping[str, Array]) -> Binding:
        shapes = tuple(array.shape for array in inputs.values())
        binding = self._bindings.get(shapes)
        if binding is None:
            binding = self.bind(inputs)
            if len(self._bindings) == _MOST_BINDINGS:
                del self._bindings[next(iter(self._bindings))]
            self._bindings[shapes] = binding
        elif any(binding.inputs.get(name) is not array for name, array in inputs.items()):
            self._check(inputs)
            for name, array in inputs.items():
                binding.set_input(name, array)
        return binding

    def _check(self, inputs: Mapping[str, Array]) -> None:
        if inputs.keys() != self._specs.keys():
            raise GraphError(f"model {self.entry.name} takes {sorted(self._specs)}, not {sorted(inputs)}")
        for name, spec in self._specs.items():
            array = inputs[name]
            if array.dtype != spec.dtype or not _fits(array.shape, spec.shape):
                raise GraphError(
                    f"input {name} of model {self.entry.name} is {array.dtype}{list(array.shape)} "
                    f"instead of {spec.dtype}{list(spec.shape)}"
                )

    def _make_outputs(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        specs = self.entry.outputs
        if all(spec.is_static for spec in specs):
            return {spec.name: np.empty(_shape(spec, {}), spec.dtype) for spec in specs}
        names = [spec.name for spec in specs]
        with translated(self.entry.name):
            found = self._session.run(names, dict(inputs))
        return dict(zip(names, found, strict=True))


def _lane_beside(device: Device | None, name: str) -> Lane | None:
    """A stream for a network whose own runtime knows none: that of the CPU, on a device that is simulated."""
    return None if device is None or device.shares_host_memory else Lane(device.stream(name))


def _shape(spec: TensorSpec, axes: Mapping[str, int]) -> tuple[int, ...]:
    missing = [axis for axis in spec.shape if isinstance(axis, str) and axis not in axes]
    if missing:
        raise GraphError(f"tensor {spec.name} needs a size for {', '.join(map(str, missing))}")
    return tuple(axis if isinstance(axis, int) else axes[axis] for axis in spec.shape)


def _fits(shape: tuple[int, ...], wanted: tuple[int | str, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        isinstance(axis, str) or axis == size for size, axis in zip(shape, wanted, strict=True)
    )
