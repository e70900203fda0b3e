"""The CUDA kernels compiled for the host: the very source of the GPU, run on NumPy arrays."""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from livefusion.core.errors import MachineError
from livefusion.devices.kernel import Extent, Kernel
from livefusion.devices.kernels import kernel_source

_ALIGNMENT = 256
# Contraction off: what the host rounds twice the GPU rounds once, and tolerances allow for that anyway.
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror")
SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""Flags for a twin that stops at the first byte beyond an array; its process must preload the runtime."""


def compiler() -> str | None:
    """The C++ compiler of this machine."""
    return shutil.which(os.environ.get("CXX", "g++"))


@cache
def build_twin(extra: tuple[str, ...] = ()) -> Path:
    """The shared library, compiled once for each version of the source (2 s) and kept in the user's cache.

    ``MachineError`` if there is no compiler or it refuses the source.
    """
    source, flags = kernel_source(), (*_FLAGS, *extra)
    digest = hashlib.sha256("\0".join((source, *flags)).encode()).hexdigest()[:16]
    folder = platformdirs.user_cache_path("livefusion") / "host-twin"
    library = folder / f"{digest}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _compile(source, flags, library)
    return library


def _compile(source: str, flags: tuple[str, ...], library: Path) -> None:
    cxx = compiler()
    if cxx is None:
        raise MachineError("there is no C++ compiler for the host twin of the kernels", "install g++")
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        unit, made = Path(folder, "livefusion.cpp"), Path(folder, "livefusion.so")
        unit.write_text(source, encoding="utf-8")
        done = subprocess.run([cxx, *flags, unit, "-o", made], capture_output=True, text=True, check=False)
        if done.returncode:
            raise MachineError(f"{cxx} refuses the kernels ({done.stderr.strip()[:2000]})", "mend the source")
        made.replace(library)  # whole or not at all: another process may be building the same one


class HostTwin:
    """A ``Launcher`` that runs each kernel at once on arrays of the host. Safe for several threads."""

    def __init__(self, library: Path | None = None) -> None:
        self._library = ctypes.CDLL(str(library or build_twin()))
        self._functions: dict[str, Any] = {}
        self._local = threading.local()

    def launch(self, kernel: Kernel, extent: Extent, *values: Any) -> None:
        """Run a kernel now."""
        function = self._functions.get(kernel.name) or self._find(kernel)
        function(kernel.layout.pack(*extent, 0, *values))

    def scratch(self, use: str, size: int) -> int:
        """Address of memory of this thread."""
        blocks: dict[str, npt.NDArray[np.uint8]] = self._local.__dict__
        block = blocks.get(use)
        if block is None or block.size < size + _ALIGNMENT:
            block = blocks[use] = np.full(size + _ALIGNMENT, 0xA5, np.uint8)
        start: int = block.ctypes.data
        return start + -start % _ALIGNMENT

    def _find(self, kernel: Kernel) -> Any:
        """The function of a kernel, after a look that both languages lay its arguments out alike."""
        size = getattr(self._library, f"{kernel.name}_size")()
        if size != -(-kernel.layout.size // 8) * 8:
            raise AssertionError(f"{kernel.name} takes {size} bytes of arguments, not {kernel.layout.size}")
        function = getattr(self._library, kernel.name)
        function.argtypes, function.restype = [ctypes.c_char_p], None
        self._functions[kernel.name] = function
        return function
