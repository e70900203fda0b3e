"""The compiler out of the wheel takes every kernel, and lays its arguments out as Python packs them."""

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator

import pytest
from uses import ROOT

import livefusion.ops.cuda
from livefusion.devices.kernel import Kernel
from livefusion.devices.kernels import kernel_source

sys.path.insert(0, str(ROOT / "tools"))

from kernel_build import nvrtc
from kernel_build.usage import ARCHITECTURES, BuildError

pytestmark = pytest.mark.gpu_wheels

_ENTRY = re.compile(r"\.entry (\w+)\(\s*\.param (?:\.align \d+ \.b8 \w+\[(\d+)\]|\.u64 (\w+))")


def _kernels() -> Iterator[Kernel]:
    for module in pkgutil.iter_modules(livefusion.ops.cuda.__path__):
        values = vars(importlib.import_module(f"livefusion.ops.cuda.{module.name}")).values()
        for value in values:
            yield from (kernel for kernel in _flat(value) if isinstance(kernel, Kernel))


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, tuple | list):
        yield from value
    else:
        yield value


@pytest.fixture(scope="module")
def parameters() -> dict[str, int]:
    """Bytes that each kernel takes by value; 0 for one that takes an address."""
    found = _ENTRY.findall(nvrtc.ptx(kernel_source(), ARCHITECTURES[0]))
    return {name: int(size or 0) for name, size, _ in found}


def test_every_kernel_takes_what_python_packs(parameters: dict[str, int]) -> None:
    kernels = {kernel.name: kernel for kernel in _kernels()}
    assert kernels
    packed = {name: -(-kernel.layout.size // 8) * 8 for name, kernel in kernels.items()}
    assert {name: parameters.get(name) for name in packed} == packed
    assert {name: parameters.get(f"{name}_at") for name in packed} == dict.fromkeys(packed, 0)


def test_the_newest_architecture_is_known() -> None:
    measured = nvrtc.measure(kernel_source(), (max(ARCHITECTURES),))
    assert not [key for key, usage in measured.items() if usage.spilled or usage.registers == 0]


@pytest.mark.parametrize("body", ["no_such_function();", "int unused;"])
def test_what_it_refuses_or_warns_of_is_told(body: str) -> None:
    with pytest.raises(BuildError, match=r"no_such_function|unused"):
        nvrtc.measure(f'extern "C" __global__ void lf_bad() {{ {body} }}', (90,))
