"""CuPy as its wheel is: what ``devices.cuda`` uses of it exists, and the stand-in claims nothing more."""

import inspect
import re
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from signatures import fault
from uses import ROOT, Chain, uses

from livefusion.core.errors import DeviceError, DeviceLostError, OutOfMemoryError
from livefusion.devices.cuda import events, library
from livefusion.devices.cuda.module import compile_kernels
from livefusion.testing import host_cupy
from livefusion.testing.host_cupy import HostCupy

pytestmark = pytest.mark.gpu_wheels

PARTS = ("runtime", "driver", "nvrtc")
KNOWN: dict[str, Chain] = {"cupy": ("cupy",), "_cupy": ("cupy",)}
KNOWN |= {prefix + part: ("cupy", "cuda", part) for part in PARTS for prefix in ("", "_")}
_STATUS = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*cudaError(\w*)\s*=\s*(\d+)", re.DOTALL)


@pytest.fixture(scope="module")
def cupy() -> Any:
    return library.load_cupy()


@pytest.fixture(scope="module")
def statuses() -> dict[int, tuple[str, str]]:
    """Status codes of the CUDA runtime: what the header says of each, and its name."""
    header = next(file for file in files("nvidia-cuda-runtime") or () if file.name == "driver_types.h")
    text = Path(str(header.locate())).read_text(encoding="utf-8")
    return {int(code): (re.sub(r"[\s*]+", " ", words), name) for words, name, code in _STATUS.findall(text)}


def test_everything_we_use_exists_and_is_called_rightly(cupy: Any) -> None:
    found = uses(ROOT / "livefusion" / "devices" / "cuda", "cupy", KNOWN)
    assert {"launchKernel", "memcpy2DAsync", "mallocAsync", "UnownedMemory"} <= {
        use.chain[-1] for use in found
    }
    assert [message for use in found if (message := fault(cupy, use))] == []


def test_so_does_what_the_checks_of_a_gpu_use(cupy: Any) -> None:
    found = uses(ROOT / "tools" / "gpu_checks", "cupy", KNOWN)
    assert {"RawKernel", "eventElapsedTime", "matmul", "memGetInfo"} <= {use.chain[-1] for use in found}
    assert [message for use in found if (message := fault(cupy, use))] == []


def test_the_stand_in_has_nothing_that_cupy_lacks(cupy: Any) -> None:
    pairs = list(_pairs(HostCupy().cuda, cupy.cuda, "cupy.cuda"))
    assert len(pairs) > 40
    missing = [place for place, _, real in pairs if real is None]
    assert missing == []
    differing = {place: real for place, ours, real in pairs if isinstance(ours, int) and real != ours}
    differing.pop("cupy.cuda.nvtx.available", None)  # whether the profiler's library is there
    assert differing == {}


@pytest.mark.parametrize("name", ["UnownedMemory", "MemoryPointer"])
def test_what_the_stand_in_makes_has_only_attributes_of_the_real_one(name: str, cupy: Any) -> None:
    memory = host_cupy.UnownedMemory(4096, 64, None, 0)
    made = memory if name == "UnownedMemory" else host_cupy.MemoryPointer(memory, 0)
    real = _memory_of(cupy, np.zeros(64, np.uint8))
    public = {attribute for attribute in vars(made) if not attribute.startswith("_")} - {"owner"}
    target = real.mem if name == "UnownedMemory" else real
    assert {attribute for attribute in public if not hasattr(target, attribute)} == set()


def test_an_array_over_given_memory_has_views_as_numpy_has(cupy: Any) -> None:
    block = np.arange(64, dtype=np.uint8)
    array = cupy.ndarray((4, 8), np.dtype(np.uint8), memptr=_memory_of(cupy, block), strides=(16, 1))
    plain = np.lib.stride_tricks.as_strided(block, (4, 8), (16, 1))
    for view, expected in ((array, plain), (array[1:, 2:6], plain[1:, 2:6]), (array[::2], plain[::2])):
        assert view.data.ptr == expected.ctypes.data
        assert (view.shape, view.strides, view.nbytes) == (expected.shape, expected.strides, expected.nbytes)
    whole = cupy.ndarray((8, 8), np.dtype(np.uint8), memptr=_memory_of(cupy, block), strides=None)
    assert whole.reshape(4, 8, 2).strides == (16, 2, 1)
    assert whole[2:].reshape(3, 8, 2).data.ptr == block.ctypes.data + 16
    assert (whole.view("float32").shape, whole.dtype, whole.size) == ((8, 2), np.uint8, 64)


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (2, OutOfMemoryError, "no memory left"),
        (100, DeviceError, "no such GPU"),
        (35, DeviceError, "580"),
        (700, DeviceLostError, "IllegalAddress"),
        (1, DeviceError, "InvalidValue"),
    ],
)
def test_its_errors_become_ours(status: int, kind: type[DeviceError], words: str, cupy: Any) -> None:
    error = library.translated(cupy.cuda.runtime.CUDARuntimeError(status), "a test")
    assert type(error) is kind
    assert words in str(error)
    assert isinstance(cupy.cuda.runtime.CUDARuntimeError(status), library.foreign_errors(cupy))


def test_its_own_out_of_memory_is_ours(cupy: Any) -> None:
    error = cupy.cuda.memory.OutOfMemoryError(1 << 30, 1 << 30)
    assert isinstance(library.translated(error, "a test"), OutOfMemoryError)
    assert isinstance(error, library.foreign_errors(cupy))


def test_the_status_codes_are_those_of_the_header(statuses: dict[int, tuple[str, str]]) -> None:
    names = {
        library._NO_DEVICE: "NoDevice",
        library._BAD_DEVICE: "InvalidDevice",
        library._OLD_DRIVER: "InsufficientDriver",
        library._OUT_OF_MEMORY: "MemoryAllocation",
        library._NOT_READY: "NotReady",
    }
    assert {code: statuses[code][1] for code in names} == names


def test_after_a_sticky_error_the_device_is_lost(statuses: dict[int, tuple[str, str]]) -> None:
    fatal = {code for code, (words, _) in statuses.items() if "inconsistent state" in words}
    assert len(fatal) >= 8
    assert (fatal | {214, 220}) - library._STICKY == set()  # errors of memory and of NVLink
    harmless = {46: "DevicesUnavailable", 219: "InvalidGraphicsContext", 708: "SetOnActiveProcess"}
    assert {code: statuses[code][1] for code in harmless} == harmless
    assert library._STICKY & set(harmless) == set()


def test_flags_that_cupy_does_not_name(cupy: Any) -> None:
    assert cupy.cuda.runtime.eventDisableTiming == events._DISABLE_TIMING


def test_its_compiler_takes_the_kernels(cupy: Any) -> None:
    assert compile_kernels(cupy.cuda.nvrtc, "90")[:4] == b"\x7fELF"


def test_an_architecture_that_it_does_not_know_is_told(cupy: Any) -> None:
    with pytest.raises(DeviceError, match="sm_10 "):
        compile_kernels(cupy.cuda.nvrtc, "10")


def test_a_stream_from_elsewhere_is_the_current_one(cupy: Any) -> None:
    parameters = inspect.signature(cupy.cuda.Stream.from_external).parameters
    assert list(parameters)[-1] == "obj"
    assert {"__enter__", "__exit__"} <= set(dir(cupy.cuda.Stream))


def _memory_of(cupy: Any, block: np.ndarray) -> Any:
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(block.ctypes.data, block.nbytes, block, 0), 0)


def _pairs(ours: Any, real: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Every name of the stand-in, with its value and that of the real module, or None."""
    for name, value in vars(ours).items():
        other = getattr(real, name, None)
        if isinstance(value, SimpleNamespace) and other is not None:
            yield from _pairs(value, other, f"{place}.{name}")
        else:
            yield f"{place}.{name}", value, other
