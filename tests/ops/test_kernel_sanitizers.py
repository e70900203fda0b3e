"""Every kernel under the address and undefined-behaviour sanitizers, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from livefusion.testing.host_twin import SANITIZE, build_twin, compiler

FOLDER = Path(__file__).parent
EXIT_OK = 0

pytestmark = pytest.mark.unit


def runtime() -> str | None:
    """The library that must be in the process before any other: it takes over the allocation of memory."""
    if (cxx := compiler()) is None:
        return None
    asked = subprocess.run([cxx, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    path = asked.stdout.strip()
    return path if os.path.isabs(path) else None


def sanitized(*arguments: str) -> subprocess.CompletedProcess[str]:
    if (library := runtime()) is None:
        pytest.skip("no C++ compiler with sanitizers")
    build_twin(SANITIZE)  # here, where the compiler itself is not watched
    environment = os.environ | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python never frees what lives as long as it does
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, FOLDER / "sanitized.py", *arguments]
    return subprocess.run(command, env=environment, cwd=FOLDER, capture_output=True, text=True, check=False)


def test_no_kernel_leaves_its_arrays() -> None:
    """One seed of each case on the twin, and all that borders are tried with."""
    chosen = "(cuda and not 1-cuda) or test_kernel_borders or test_kernel_mesh"
    done = sanitized("test_conformance.py", "test_kernel_borders.py", "test_kernel_mesh.py", "-k", chosen)
    assert done.returncode == EXIT_OK, (done.stdout + done.stderr)[-4000:]


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        ("test_read", "heap-buffer-overflow"),
        ("test_write", "heap-buffer-overflow"),
        ("test_scratch", "heap-buffer-overflow"),
        ("test_number", "signed integer overflow"),
    ],
)
def test_a_planted_fault_is_caught(plant: str, words: str) -> None:
    done = sanitized(f"sanitized_plants.py::{plant}")
    assert done.returncode != EXIT_OK
    assert words in done.stderr
