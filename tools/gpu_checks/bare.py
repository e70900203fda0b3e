"""A stand-in for the one small package that the device needs besides NumPy and CuPy."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


def provide() -> None:
    """Put a module ``platformdirs`` in place unless there is one."""
    if find_spec("platformdirs") is not None:
        return
    module = ModuleType("platformdirs")
    module.user_cache_path = lambda name: Path.home() / ".cache" / name  # type: ignore[attr-defined]
    sys.modules["platformdirs"] = module
