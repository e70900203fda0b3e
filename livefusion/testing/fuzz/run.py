"""Feeds mutants to a parser in a child process, and tells what it did not stand."""

import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from livefusion.testing.fuzz.child import READ, REFUSED
from livefusion.testing.fuzz.targets import Target

SLOW_MS = 1000
"""Milliseconds of processor time that one input may take."""
MOST_MIB = 200
"""Growth of memory that is allowed, in MiB."""
_HUNG_SECONDS = 60.0
_START_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Fault:
    """A mutant that was not read, nor refused as it should be."""

    number: int
    what: str


@dataclass(slots=True)
class FuzzResult:
    """What became of the mutants of one target."""

    name: str
    mutants: int = 0
    read: int = 0
    refused: int = 0
    slowest_ms: int = 0
    grown_mib: int = 0
    faults: list[Fault] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether the parser stood it all."""
        return not self.faults and self.grown_mib <= MOST_MIB

    def take(self, number: int, outcome: str, cpu_ms: int) -> None:
        """Note what became of a mutant."""
        self.mutants += 1
        self.read += outcome == READ
        self.refused += outcome == REFUSED
        self.slowest_ms = max(self.slowest_ms, cpu_ms)
        if outcome not in {READ, REFUSED}:
            self.faults.append(Fault(number, outcome))
        elif cpu_ms > SLOW_MS:
            self.faults.append(Fault(number, f"{cpu_ms} ms"))


def fuzz(target: Target, first: int, count: int) -> FuzzResult:
    """Feed so many mutants to a parser, from that number on; a child that dies is followed by another."""
    result = FuzzResult(target.name)
    number, last = first, first + count
    while number < last:
        number = _feed(target, number, last, result)
    return result


def _feed(target: Target, first: int, last: int, result: FuzzResult) -> int:
    """One child's work; the number that comes after the last that it was given."""
    command = [sys.executable, "-m", "livefusion.testing.fuzz.child", target.name, str(first), str(last)]
    number, what = first, ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        try:
            for words in map(str.split, _Lines(child).until_silent()):
                if words[0] == "peak":
                    result.grown_mib = max(result.grown_mib, int(words[1]))
                    continue
                result.take(int(words[0]), words[1], int(words[2]))
                number = int(words[0]) + 1
        except TimeoutError:
            what = "silent"
        finally:
            child.kill()
    if number >= last:
        return last
    result.mutants += 1
    result.faults.append(Fault(number, what or f"the process ended with {child.returncode}"))
    return number + 1


class _Lines:
    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._child = child
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            self._lines.put(line)
        self._child.wait()
        self._lines.put(None)

    def until_silent(self) -> Iterator[str]:
        """The lines of the child; ``TimeoutError`` if it says nothing for long, after it has begun."""
        seconds = _START_SECONDS
        while True:
            try:
                line = self._lines.get(timeout=seconds)
            except queue.Empty as error:
                raise TimeoutError from error
            if line is None:
                return
            seconds = _HUNG_SECONDS
            yield line
