"""NVRTC out of the wheel: the compiler that makes the kernels on the user's machine. It needs no driver."""

import ctypes
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from kernel_build.usage import BuildError, Usages, parse_log

PACKAGE = "nvidia-cuda-nvrtc"
_LIBRARY = re.compile(r"libnvrtc\.so\.\d+|nvrtc64_\d+_0\.dll")
_STANDARD = "--std=c++17"


def find_nvrtc() -> Path | None:
    """The library in the installed wheel."""
    try:
        listed = files(PACKAGE) or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in listed if _LIBRARY.fullmatch(file.name)), None)


def version() -> str:
    """The version of the library, as ``13.5``."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def measure(source: str, architectures: Iterable[int]) -> Usages:
    """Compile to machine code of each architecture. ``BuildError`` with the log if one refuses."""

    def measured(architecture: int) -> Usages:
        with _Program(source) as program:
            program.compile(f"-arch=sm_{architecture}", "--ptxas-options=-v")
            return parse_log(program.log())

    usages: Usages = {}
    with ThreadPoolExecutor(2) as workers:
        for part in workers.map(measured, architectures):
            usages |= part
    return usages


def ptx(source: str, architecture: int) -> str:
    """The intermediate code for an architecture."""
    with _Program(source) as program:
        program.compile(f"-arch=compute_{architecture}")
        return program.text("PTX")


@cache
def _library() -> ctypes.CDLL:
    path = find_nvrtc()
    if path is None:
        raise BuildError(
            f"{PACKAGE} is not installed here: uv run --extra cuda --group dev python {sys.argv[0]}"
        )
    return ctypes.CDLL(str(path))


class _Program:
    """One source on its way through the compiler."""

    def __init__(self, source: str) -> None:
        self._handle = ctypes.c_void_p()
        _library().nvrtcCreateProgram(
            ctypes.byref(self._handle), source.encode(), b"livefusion.cu", 0, None, None
        )

    def __enter__(self) -> "_Program":
        return self

    def __exit__(self, *raised: object) -> None:
        _library().nvrtcDestroyProgram(ctypes.byref(self._handle))

    def compile(self, *options: str) -> None:
        """Compile without a warning, or raise ``BuildError``."""
        given = [option.encode() for option in (_STANDARD, *options)]
        refused = _library().nvrtcCompileProgram(
            self._handle, len(given), (ctypes.c_char_p * len(given))(*given)
        )
        log = self.log()
        if refused or "warning" in log:
            raise BuildError(f"NVRTC {version()} refuses the kernels with {' '.join(options)}:\n{log}")

    def log(self) -> str:
        """What compiler and assembler said."""
        return self.text("ProgramLog")

    def text(self, what: str) -> str:
        """One of the texts that the program holds."""
        size = ctypes.c_size_t()
        getattr(_library(), f"nvrtcGet{what}Size")(self._handle, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(_library(), f"nvrtcGet{what}")(self._handle, buffer)
        return buffer.value.decode(errors="replace")
