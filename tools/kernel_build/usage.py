"""What a kernel takes from a GPU, as the assembler tells it."""

import re
from dataclasses import dataclass

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
"""Compute capabilities, times ten: Turing, Ampere (two), Ada, Hopper, Blackwell (two)."""

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)a?'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


class BuildError(Exception):
    """A compiler is missing or refuses the source."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Registers of a thread; bytes of its stack frame and of spilled registers; shared bytes of a block."""

    registers: int = 0
    stack: int = 0
    spilled: int = 0
    shared: int = 0

    def most(self, other: "Usage") -> "Usage":
        """The larger of two in each respect."""
        return Usage(
            max(self.registers, other.registers),
            max(self.stack, other.stack),
            max(self.spilled, other.spilled),
            max(self.shared, other.shared),
        )


Usages = dict[tuple[str, int], Usage]
"""By the name of the kernel and the architecture."""


def parse_log(log: str) -> Usages:
    """Usages from what ``ptxas -v`` wrote; a function that was not inlined counts for its kernel."""
    found: Usages = {}
    key: tuple[str, int] | None = None
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            key = (entry[1], int(entry[2]))
            found[key] = Usage()
        elif key is not None:
            found[key] = found[key].most(_of_line(line))
    return found


def _of_line(line: str) -> Usage:
    if frame := _FRAME.search(line):
        return Usage(stack=int(frame[1]), spilled=int(frame[2]) + int(frame[3]))
    registers, shared = _REGISTERS.search(line), _SHARED.search(line)
    return Usage(registers=int(registers[1]) if registers else 0, shared=int(shared[1]) if shared else 0)
