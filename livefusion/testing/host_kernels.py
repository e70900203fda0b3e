"""Where the addresses lie among the arguments of a kernel."""

import importlib
import pkgutil
import re
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

from livefusion.devices.kernel import Kernel
from livefusion.ops import cuda

_CODE = re.compile(r"(\d*)([a-zA-Z?])")


@cache
def pointers_of(name: str) -> tuple[int, ...]:
    """Offsets of the addresses in the packed arguments of a kernel; none of a kernel that no operator has."""
    kernel = _kernels().get(name)
    return () if kernel is None else tuple(_pointers(kernel))


@cache
def _kernels() -> dict[str, Kernel]:
    modules = (
        importlib.import_module(f"{cuda.__name__}.{one.name}") for one in pkgutil.iter_modules(cuda.__path__)
    )
    return {kernel.name: kernel for module in modules for kernel in _found(vars(module).values())}


def _found(values: Any) -> Iterator[Kernel]:
    for value in values:
        if isinstance(value, Kernel):
            yield value
        elif isinstance(value, dict):
            yield from (one for one in value.values() if isinstance(one, Kernel))


def _pointers(kernel: Kernel) -> Iterator[int]:
    before = ""
    for count, code in _CODE.findall(kernel.layout.format.lstrip("@")):
        for _ in range(int(count or 1) if code == "P" else 1):
            before += f"{count if code != 'P' else ''}{code}"
            if code == "P":
                yield struct.calcsize(f"@{before}") - struct.calcsize("P")
