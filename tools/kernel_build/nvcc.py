"""nvcc of the CUDA toolkit, where there is one: a second opinion, and the maker of the prebuilt fatbin."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kernel_build.usage import ARCHITECTURES, BuildError, Usages, parse_log

_FLAGS = ("-std=c++17", "-Werror", "all-warnings", "-Xptxas", "-v", "--threads", "2")


@cache
def find_nvcc() -> str | None:
    """The compiler of this machine, if it is young enough to know every architecture."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        return None
    known = subprocess.run(
        [nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=False
    ).stdout.split()
    return nvcc if {f"compute_{number}" for number in ARCHITECTURES} <= set(known) else None


def version() -> str:
    """The version of the compiler, as ``13.0``."""
    told = re.search(r"release (\d+\.\d+)", _run("--version"))
    return told[1] if told else "unknown"


def measure(source: str, architectures: Iterable[int]) -> Usages:
    """Compile to machine code of each architecture. ``BuildError`` with the log if one refuses."""
    with tempfile.TemporaryDirectory() as folder:
        return write_fatbin(source, architectures, Path(folder, "livefusion.fatbin"))


def write_fatbin(
    source: str, architectures: Iterable[int], output: Path, forward: int | None = None
) -> Usages:
    """Write machine code of each architecture and PTX of ``forward``, for GPUs that are yet to come."""
    kinds = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in architectures]
    if forward is not None:
        kinds.append(f"-gencode=arch=compute_{forward},code=compute_{forward}")
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder, "livefusion.cu")
        unit.write_text(source, encoding="utf-8")
        return parse_log(_run(*_FLAGS, "-fatbin", *kinds, str(unit), "-o", str(output)))


def _run(*arguments: str) -> str:
    nvcc = find_nvcc()
    if nvcc is None:
        raise BuildError("there is no nvcc here that knows every architecture: install the CUDA toolkit 13")
    done = subprocess.run([nvcc, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"nvcc refuses the kernels:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
