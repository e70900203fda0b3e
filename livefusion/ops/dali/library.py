"""The one door to NVIDIA DALI: its import, and its errors in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from livefusion.core.errors import DeviceError, OutOfMemoryError

_REMEDY = "choose --preprocess cupy"
_INSTALL = "install livefusion[cuda], or choose --preprocess cupy"


@dataclass(frozen=True, slots=True)
class Dali:
    """What we use of the library: ``pipeline_def``, the operators, their mathematics, and the types."""

    pipeline_def: Any
    fn: Any
    math: Any
    types: Any


def load_dali() -> Dali:
    """Import DALI, which takes half a second; ``DeviceError`` if it is not installed or does not load."""
    try:
        from nvidia import dali
        from nvidia.dali import fn, math, types
    except ModuleNotFoundError as error:
        raise DeviceError("NVIDIA DALI is not installed", _INSTALL) from error
    except (ImportError, OSError, RuntimeError) as error:
        raise DeviceError(f"NVIDIA DALI does not load: {_first_line(error)}", _REMEDY) from error
    return Dali(dali.pipeline_def, fn, math, types)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what DALI raises into a ``DeviceError`` that says what could not be done."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"no memory left for DALI to {doing}", "use a smaller size") from error
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        if "out of memory" in str(error).lower():
            raise OutOfMemoryError(f"no memory left for DALI to {doing}", "use a smaller size") from error
        raise DeviceError(f"DALI cannot {doing}: {_first_line(error)}", _REMEDY) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
