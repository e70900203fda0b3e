"""CuPy, imported late and made to speak in errors of ours."""

import importlib
from functools import cache
from typing import Any, Final

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError

INSTALL: Final = "start with `uv run --extra cuda livefusion …`, or use --device cpu"
DOCTOR: Final = "`livefusion doctor` says what is missing; --device cpu needs no GPU"
_REOPEN: Final = "start the program again; if that does not help, restart the machine, or use --device cpu"

# Status codes of the CUDA runtime (driver_types.h).
_NO_DEVICE, _BAD_DEVICE, _OLD_DRIVER, _OUT_OF_MEMORY, _NOT_READY = 100, 101, 35, 2, 600
# After these every call on the context fails, until the process ends.
_STICKY = frozenset({214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 911, 999})


@cache
def load_cupy() -> Any:
    """The module, after the first 0.5 s. ``DeviceError`` if it is not installed or does not load."""
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        reason = "is not installed" if isinstance(error, ModuleNotFoundError) else f"does not load ({error})"
        raise DeviceError(f"CuPy, which drives the GPU, {reason}", INSTALL) from error


def foreign_errors(cupy: Any) -> tuple[type[Exception], ...]:
    """What CuPy raises where a call of CUDA fails."""
    return (
        cupy.cuda.runtime.CUDARuntimeError,
        cupy.cuda.driver.CUDADriverError,
        cupy.cuda.memory.OutOfMemoryError,
    )


def translated(error: Exception, doing: str) -> DeviceError:
    """The error of ours for one of CuPy's; the caller raises it."""
    status, text = int(getattr(error, "status", 0)), str(error).strip() or type(error).__name__
    if isinstance(error, MemoryError) or status == _OUT_OF_MEMORY:
        return OutOfMemoryError(
            f"the GPU has no memory left for {doing}",
            "close other programs that use it, or use a smaller size",
        )
    if status in _STICKY:
        return DeviceLostError(f"the GPU was lost during {doing} ({text})", _REOPEN)
    if status in {_NO_DEVICE, _BAD_DEVICE}:
        return DeviceError(f"there is no such GPU ({text})", DOCTOR)
    if status == _OLD_DRIVER:
        return DeviceError("there is no NVIDIA driver, or it is too old for CUDA 13 (580 is needed)", DOCTOR)
    return DeviceError(f"the GPU refuses {doing} ({text})", DOCTOR)


def current(cupy: Any, stream: Any) -> Any:
    """A context in which CuPy puts its own work on a stream that has a ``handle``."""
    kind = cupy.cuda.Stream
    if hasattr(kind, "from_external"):
        return kind.from_external(stream)
    return cupy.cuda.ExternalStream(stream.handle)  # before CuPy 14, which some machines for CUDA 12 have


def is_past(runtime: Any, event: int) -> bool:
    """Whether the work before a CUDA event is done. CuPy's errors: it returns the status instead."""
    status = int(runtime.eventQuery(event))
    if status not in {0, _NOT_READY}:
        runtime.check_status(status)
    return status == 0
