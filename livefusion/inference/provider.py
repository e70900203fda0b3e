"""Which execution provider of ONNX Runtime a device's name stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from livefusion.core.errors import DeviceError

CPU_PROVIDER = "CPUExecutionProvider"
_CUDA = re.compile(r"cuda(?::(\d+))?")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a network runs: `kind` is `cpu` or `cuda`, as ONNX Runtime names memory; `index` counts GPUs."""

    kind: str
    index: int = 0

    @property
    def on_cuda(self) -> bool:
        """Tell whether that is a GPU."""
        return self.kind == "cuda"


def place_of(device_name: str) -> Place:
    """Return the place that a device name (`cpu`, `cuda`, `cuda:1`) stands for.

    Raises DeviceError for another name.
    """
    if device_name == "cpu":
        return Place("cpu")
    found = _CUDA.fullmatch(device_name)
    if found is None:
        raise DeviceError(f"no inference device is called {device_name!r}", "use cpu, cuda or cuda:N")
    return Place("cuda", int(found.group(1) or 0))
