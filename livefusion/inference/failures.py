"""What ONNX Runtime raises, as errors of ours."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from livefusion.core.errors import (
    DeviceError,
    DeviceLostError,
    LiveFusionError,
    ModelError,
    OutOfMemoryError,
)
from livefusion.inference.engine import onnxruntime

_OUT_OF_MEMORY = re.compile(
    r"out of memory|bad.?alloc|failed to allocate memory|smaller than requested bytes|_ALLOC_FAILED",
    re.IGNORECASE,
)
# After these statuses every call on the GPU fails until the process ends.
_LOST = re.compile(
    r"device (?:was |is )?lost|illegal memory access|unspecified launch failure"
    r"|CUDA (?:failure|error)[ :]+(?:46|214|219|700|702|708|709|710|714|715|716|717|718|719|721|999)\b",
    re.IGNORECASE,
)
_OF_CUDA = re.compile(r"\b(?:CUDA|CUDNN|CUBLAS)\w* (?:failure|error) \d+: [^;]*[^;\s]")
_OF_THE_DEVICE = re.compile(r"CUDA|cuDNN|cuBLAS|CPU EP\b|execution provider", re.IGNORECASE)

_DOCTOR = "run `livefusion doctor`"


@cache
def _foreign_errors() -> tuple[type[Exception], ...]:
    # ONNX Runtime's exceptions share no base class of their own.
    onnxruntime()
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    found = (value for value in vars(state).values() if isinstance(value, type))
    own = tuple(value for value in found if issubclass(value, Exception))
    return (*own, RuntimeError, ValueError, MemoryError)


@contextmanager
def translated(model: str, *, loading: bool = False) -> Iterator[None]:
    """Translate what ONNX Runtime raises.

    ``OutOfMemoryError`` and ``DeviceLostError`` for what these words mean, ``DeviceError`` for other failures
    of the device or of a run, ``ModelError`` for a file that does not load.
    """
    try:
        yield
    except _foreign_errors() as error:
        raise _translation(str(error).strip() or type(error).__name__, model, loading) from error


def _translation(text: str, model: str, loading: bool) -> LiveFusionError:
    reason = _reason(text)
    if _OUT_OF_MEMORY.search(text):
        return OutOfMemoryError(
            f"there is no memory left for model {model} ({reason})",
            "close other programs that use the device, or use --device cpu",
        )
    if _LOST.search(text):
        return DeviceLostError(f"the GPU was lost while model {model} ran ({reason})", "use --device cpu")
    if not loading:
        return DeviceError(f"model {model} failed while running ({reason})", _DOCTOR)
    if _OF_THE_DEVICE.search(text):
        return DeviceError(
            f"model {model} cannot run on the GPU ({reason})", f"{_DOCTOR} or use --device cpu"
        )
    return ModelError(f"onnxruntime cannot load model {model} ({reason})", "run `livefusion models check`")


def _reason(text: str) -> str:
    """What matters of a message: those of CUDA come in a wrapping of C++ and end with the machine's name."""
    of_cuda = _OF_CUDA.search(text)
    return of_cuda.group() if of_cuda else text.splitlines()[0]
