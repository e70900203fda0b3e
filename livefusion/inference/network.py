"""A network on fixed device buffers, launched in stream order like an operator."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from livefusion.core.errors import GraphError
from livefusion.devices.device import Array, Device, Stream
from livefusion.inference.loaded import Lane

_ALIGNMENT = 256
"""Bytes on whose multiples each output starts, as allocations of CUDA do: kernels may load widely."""


class Runnable(Protocol):
    """A network tied to buffers (``inference.binding.Binding``)."""

    def prepare(self, undisturbed: AbstractContextManager[Any, Any]) -> None:
        """Do now what makes later runs fast; what must not be disturbed, in ``undisturbed``."""
        ...

    def run(self) -> None:
        """Read the inputs, overwrite the outputs."""
        ...


class Loaded(Protocol):
    """A network that is ready to be tied to buffers (``inference.session.Session``)."""

    @property
    def lane(self) -> Lane | None:
        """The stream on which its runs must be put; None if they take place on that of the caller."""
        ...

    def dtype_of(self, tensor: str) -> str:
        """The type of an input or output."""
        ...

    def bind(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array] | None = None) -> Runnable:
        """Tie the network to fixed buffers."""
        ...

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """Run once on host arrays; the outputs hold until the next run."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """One picture's part: what to call, what it reads and writes, and its outputs as the host sees them."""

    work: Callable[[], None]
    reads: tuple[Array, ...]
    writes: tuple[Array, ...]
    outputs: Mapping[str, Any]


class BoundNetwork:
    """Picture tensors in, named tensors out, in memory of the device that stays the same.

    ``image`` is the shape of the tensor of pictures that a run of the network takes, which the network calls
    ``image_name``; ``beside`` are shapes of others that it takes. ``outputs`` are those that it gives, all of
    one dtype. ``count`` is the largest number of pictures in a launch, a run for each. All outputs lie in one
    block, so that a single copy brings them to a host that does not share the memory; without ``to_host``
    they stay on the device.
    """

    def __init__(
        self,
        device: Device,
        session: Loaded,
        name: str,
        image: tuple[int, ...],
        outputs: Mapping[str, tuple[int, ...]],
        *,
        count: int = 1,
        to_host: bool = True,
        image_name: str = "image",
        beside: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        self._device = device
        self._name = name
        self._image_name = image_name
        self._lane = session.lane
        self.image: Array = device.empty((count * image[0], *image[1:]), session.dtype_of(image_name))
        self.beside: dict[str, Array] = {
            tensor: device.empty((count, *shape), session.dtype_of(tensor))
            for tensor, shape in (beside or {}).items()
        }
        """What a run takes beside its picture, one (count, …) array a tensor; written by who uses it."""
        dtype = _common_dtype(session, outputs)
        places, size = _places(outputs, dtype)
        self._block: Array = device.empty((count, size), dtype)
        self._pinned = (
            device.pinned((count, size), dtype) if to_host and not device.shares_host_memory else None
        )
        self._runs = [self._bind(session, image[0], places, index) for index in range(count)]
        self._kept = [_parts(self._block[index], places) for index in range(count)]

    @property
    def count(self) -> int:
        """The largest number of pictures in a launch."""
        return len(self._runs)

    def launch(self, stream: Stream, count: int = 1) -> None:
        """Run on the first ``count`` pictures that ``image`` holds by then; what follows on ``stream`` waits.

        Where memory is not shared, the outputs are copied to the host in the order of ``stream`` too.
        """
        if self._lane is None:
            self._put(stream, count)
        else:
            self._put_beside(self._lane, stream, count)
        if self._pinned is not None:
            self._device.copy(self._pinned[:count], self._block[:count], stream)

    def output(self, tensor: str, index: int = 0) -> npt.NDArray[Any]:
        """An output for one picture on the host, until the next launch; synchronise with the launch first.

        Only with ``to_host``.
        """
        return self._device.to_host(self._runs[index].outputs[tensor])

    def kept(self, tensor: str, index: int = 0) -> Array:
        """An output for one picture where the network wrote it: on the device, in stream order."""
        return self._kept[index][tensor]

    def _put_beside(self, lane: Lane, stream: Stream, count: int) -> None:
        """Run on the stream of the network, between what is on the caller's and what will be."""
        with lane.lock:  # other graphs use the stream too
            lane.stream.wait(stream.record())
            self._put(lane.stream, count)
            done = lane.stream.record()
        stream.wait(done)

    def _put(self, stream: Stream, count: int) -> None:
        for run in self._runs[:count]:
            self._device.run(run.work, stream, reads=run.reads, writes=run.writes, name=self._name)

    def _bind(
        self, session: Loaded, batch: int, places: Mapping[str, tuple[slice, tuple[int, ...]]], index: int
    ) -> _Run:
        image, block = self.image[index * batch : (index + 1) * batch], self._block[index]
        others = {tensor: array[index] for tensor, array in self.beside.items()}
        bound = session.bind({self._image_name: image, **others}, _parts(block, places))
        if self._lane is not None:
            with self._lane.lock:
                bound.prepare(self._device.undisturbed())
        host = block if self._pinned is None else self._pinned[index]
        return _Run(bound.run, (image, *others.values()), (block,), _parts(host, places))


def _common_dtype(session: Loaded, outputs: Mapping[str, Any]) -> np.dtype[Any]:
    found = {session.dtype_of(tensor) for tensor in outputs}
    if len(found) != 1:
        raise GraphError(f"outputs of different types ({', '.join(sorted(found))}) cannot share a block")
    return np.dtype(found.pop())


def _places(
    outputs: Mapping[str, tuple[int, ...]], dtype: np.dtype[Any]
) -> tuple[dict[str, tuple[slice, tuple[int, ...]]], int]:
    """Where each output lies in a row of the block, in elements, and the length of the row."""
    step = _ALIGNMENT // dtype.itemsize
    places, start = {}, 0
    for tensor, shape in outputs.items():
        places[tensor] = (slice(start, start + prod(shape)), shape)
        start += -(-prod(shape) // step) * step
    return places, start


def _parts(row: Array, places: Mapping[str, tuple[slice, tuple[int, ...]]]) -> dict[str, Array]:
    return {tensor: row[where].reshape(shape) for tensor, (where, shape) in places.items()}
