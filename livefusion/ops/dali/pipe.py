"""A DALI pipeline that is fed and emptied in stream order."""

import ctypes
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from livefusion.core.errors import DeviceError
from livefusion.devices.device import Array, Device, Stream
from livefusion.devices.kernel import address
from livefusion.ops.dali.library import Dali, translated

Batch = list[Array]
"""One array for each sample."""
Graph = Callable[[], Any]
"""Defines the nodes of a pipeline and returns its only output."""

_CUDA = re.compile(r"cuda(?::(\d+))?")


def gpu_index(device: Device) -> int | None:
    """The number of the GPU that a device is, None for a device on the host."""
    found = _CUDA.fullmatch(device.name)
    return int(found[1] or 0) if found else None


class Pipe:
    """One built pipeline for up to ``batch`` samples. For one thread at a time.

    On CUDA nothing blocks the host. DALI works on streams of its own: what is fed from the device is copied
    on the caller's stream and an event orders DALI behind that copy, and ``run`` orders the caller's stream
    behind DALI. ``no_copy`` would save the copy, but then no event orders DALI behind the caller's stream:
    it would read pictures that are not there yet. On the host the planes are read in place.
    """

    def __init__(self, dali: Dali, graph: Graph, device: Device, batch: int) -> None:
        self._gpu = gpu_index(device)
        self._output: Any = None
        with translated("build a pipeline"):
            # One batch in flight, since each is fed and wanted now. Outputs outlive the next run only under
            # the dynamic executor.
            self._pipeline = dali.pipeline_def(graph)(
                batch_size=batch,
                num_threads=1,
                device_id=self._gpu,
                prefetch_queue_depth=1,
                exec_dynamic=True,
            )
            self._pipeline.build()

    def run(
        self, planes: Mapping[str, Batch], parameters: Mapping[str, Batch], out: Array, stream: Stream
    ) -> None:
        """Feed planes of the device and parameters of the host, and copy the output into ``out``.

        To be called as the work of ``Device.run``. ``DeviceError`` if DALI refuses.
        """
        target = pointer_to(out)
        on_stream = {} if self._gpu is None else {"cuda_stream": stream.handle}
        # Here and not before: what makes a plane dense reads it. Held until DALI has read them.
        whole = {name: [dense(plane) for plane in batch] for name, batch in planes.items()}
        with translated("preprocess a picture"):
            for name, batch in whole.items():
                self._pipeline.feed_input(name, batch, **on_stream)
            for name, batch in parameters.items():
                self._pipeline.feed_input(name, batch)
            (output,) = self._pipeline.run(*on_stream.values())
            if self._gpu is None:
                output.copy_to_external(target)
            else:
                output.copy_to_external(target, non_blocking=True, **on_stream)
        # Held until the next run, which is behind this copy on the same stream.
        self._output = output


def graph_place(device: Device) -> str:
    """``gpu`` or ``cpu``: where DALI's operators run for a device."""
    return "cpu" if gpu_index(device) is None else "gpu"


def pointer_to(out: Array) -> ctypes.c_void_p:
    """Address of a contiguous float32 array as a ``void`` pointer; ``ValueError`` if it is not such a one."""
    if out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError("the tensor to fill must be contiguous and float32")
    return ctypes.c_void_p(address(out))


def dense(plane: Array) -> Array:
    """The plane with rows that touch each other, as DALI wants them, and a last axis for the channels.

    A plane of the host with padded rows is copied; on the GPU our frames never have them (``DeviceError``).
    """
    whole = plane if plane.ndim == 3 else plane[..., None]
    if whole.flags.c_contiguous:
        return whole
    if isinstance(whole, np.ndarray):
        return np.ascontiguousarray(whole)
    raise DeviceError("DALI cannot read a picture with padded rows", "choose --preprocess cupy")
