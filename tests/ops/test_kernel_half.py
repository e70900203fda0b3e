"""How the host twin rounds to float16, against NumPy: as the GPU does, to the nearest, ties to even."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from livefusion.devices.kernels import FOLDER
from livefusion.testing.host_twin import compiler

pytestmark = pytest.mark.unit

CODE = """
#include "half.h"
extern "C" void to_half(const float* from, LfHalf* to, int count) {
    for (int i = 0; i < count; i++) lf_store(to + i, from[i]);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if (cxx := compiler()) is None:
        pytest.skip("no C++ compiler for the host twin")
    folder: Path = tmp_path_factory.mktemp("half")
    (folder / "half.cpp").write_text(CODE)
    flags = ("-std=c++17", "-O1", "-shared", "-fPIC", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    subprocess.run([cxx, *flags, f"-I{FOLDER}", folder / "half.cpp", "-o", folder / "half.so"], check=True)
    return ctypes.CDLL(str(folder / "half.so"))


def to_half(library: ctypes.CDLL, values: np.ndarray) -> np.ndarray:
    halves = np.empty(values.shape, np.uint16)
    library.to_half(ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(halves.ctypes.data), values.size)
    return halves


def every_half() -> np.ndarray:
    """Every finite float16 and the infinities, as float32."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    return halves[~np.isnan(halves)]


def test_every_half_comes_back(library: ctypes.CDLL) -> None:
    values = every_half()
    assert np.array_equal(to_half(library, values).view(np.float16), values)
    assert np.array_equal(np.signbit(to_half(library, values).view(np.float16)), np.signbit(values))


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_between_two_halves_the_nearer_wins_and_ties_are_even(library: ctypes.CDLL, steps: int) -> None:
    values = np.unique(every_half())
    values = values[np.isfinite(values)]
    middle = (values[1:] + values[:-1]) / 2  # exact: a float32 has 13 digits more
    for _ in range(abs(steps)):
        middle = np.nextafter(middle, np.float32(np.inf * steps))
    assert np.array_equal(to_half(library, middle).view(np.float16), middle.astype(np.float16))


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (65519.996, 0x7BFF),
        (65520.0, 0x7C00),
        (1e30, 0x7C00),
        (-np.inf, 0xFC00),
        (2**-25, 0x0000),
        (np.nextafter(np.float32(2**-25), np.float32(1)), 0x0001),
        (-(2**-26), 0x8000),
        (1e-45, 0x0000),
        (np.nan, 0x7FFF),
    ],
)
def test_the_ends_of_the_range(library: ctypes.CDLL, value: float, bits: int) -> None:
    assert to_half(library, np.array([value], np.float32))[0] == bits


def test_any_float_rounds_as_in_numpy(library: ctypes.CDLL) -> None:
    values = np.random.default_rng(0).integers(0, 1 << 32, 1_000_000, np.uint32).view(np.float32)
    values = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        assert np.array_equal(to_half(library, values).view(np.float16), values.astype(np.float16))
