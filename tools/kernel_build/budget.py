"""How many registers, and how much memory, each kernel may take on each architecture: `budget.toml`."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_build.usage import ARCHITECTURES, Usage, Usages

PATH = Path(__file__).resolve().parents[2] / "livefusion" / "devices" / "kernels" / "budget.toml"
HEADROOM = 8
"""Registers above the measured ones: one step in which the hardware hands them out."""
MOST_REGISTERS = 128
"""With more, a multiprocessor of 65,536 registers holds only one block of 256 threads."""

_HEADER = """\
# What kernels may take: registers of a thread, bytes of its stack, shared bytes of a block. None may spill.
# Written by `tools/build_kernels.py --update`, {headroom} registers above the measured; `--check` compares.
# Measured with {compilers}.
"""


@dataclass(frozen=True, slots=True)
class Excess:
    """Where a kernel and its budget disagree."""

    kernel: str
    architecture: int
    what: str
    measured: int
    allowed: int

    def __str__(self) -> str:
        place = f"{self.kernel:<32} sm_{self.architecture:<4}"
        return f"{place} {self.what:<10} {self.measured:>6} > {self.allowed}"


def read_budget(path: Path) -> Usages:
    """The budget file; empty if there is none."""
    if not path.exists():
        return {}
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    architectures: list[int] = document["architectures"]
    nothing = [0] * len(architectures)
    budget: Usages = {}
    for kernel, row in document["kernels"].items():
        stacks = row.get("stack", nothing)
        for architecture, registers, stack in zip(architectures, row["registers"], stacks, strict=True):
            budget[kernel, architecture] = Usage(registers, stack, shared=row.get("shared", 0))
    return budget


def write_budget(measured: Usages, compilers: Iterable[str], path: Path) -> None:
    """Write a budget that the measured usages keep, with a little headroom."""
    text = _HEADER.format(headroom=HEADROOM, compilers=" and ".join(compilers))
    text += f"architectures = {list(ARCHITECTURES)}\n"
    for kernel in sorted({kernel for kernel, _ in measured}):
        row = [measured[kernel, architecture] for architecture in ARCHITECTURES]
        text += f"\n[kernels.{kernel}]\n"
        text += f"registers = {[min(usage.registers + HEADROOM, MOST_REGISTERS) for usage in row]}\n"
        if any(usage.stack for usage in row):
            text += f"stack = {[usage.stack for usage in row]}\n"
        if shared := max(usage.shared for usage in row):
            text += f"shared = {shared}\n"
    path.write_text(text, encoding="utf-8")


def excesses(
    measured: Mapping[tuple[str, int], Usage], budget: Mapping[tuple[str, int], Usage]
) -> list[Excess]:
    """Everything that exceeds the budget, spills, or is missing from it."""
    found = []
    for (kernel, architecture), usage in sorted(measured.items()):
        allowed = budget.get((kernel, architecture), Usage())
        for what in ("registers", "stack", "spilled", "shared"):
            taken, most = getattr(usage, what), getattr(allowed, what)
            if taken > most:
                found.append(Excess(kernel, architecture, what, taken, most))
    return found


def intolerable(measured: Mapping[tuple[str, int], Usage]) -> list[Excess]:
    """What no budget may allow: spilled registers, and more registers than ``MOST_REGISTERS``."""
    limit = Usage(MOST_REGISTERS, stack=1 << 30, shared=1 << 30)
    return excesses(measured, dict.fromkeys(measured, limit))


def strangers(measured: Iterable[tuple[str, int]], budget: Iterable[tuple[str, int]]) -> list[str]:
    """Kernels of the budget that the source no longer has."""
    return sorted({kernel for kernel, _ in budget} - {kernel for kernel, _ in measured})
