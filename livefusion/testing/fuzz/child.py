"""The process in which mutants are parsed: a native parser that crashes ends this one, and not the run.

    python -m livefusion.testing.fuzz.child TARGET FIRST LAST

A line for each mutant says its number, what became of it, and the milliseconds of processor time it took.
"""

import os
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import psutil

from livefusion.core.errors import LiveFusionError
from livefusion.testing.fuzz.mutate import mutant
from livefusion.testing.fuzz.targets import TARGETS, Read, Target

READ, REFUSED = "read", "refused"
"""What may become of a mutant; everything else is the name of a foreign error."""
_CLEAR_PEAK = "5"


def main(words: list[str]) -> int:
    """Parse the mutants of one target from one number up to another, without it."""
    target = next(one for one in TARGETS if one.name == words[0])
    first, last = int(words[1]), int(words[2])
    warnings.simplefilter("ignore")
    lines = os.fdopen(os.dup(1), "w", buffering=1)
    # What native parsers print of each mutant is of no use.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    with tempfile.TemporaryDirectory(prefix="livefusion-fuzz-") as folder:
        seeds, read = target.make(Path(folder))
        for seed in seeds:  # what is loaded at its first use is no growth
            outcome_of(target, read, seed)
        before = _peak(clear=True)
        for number in range(first, last):
            data = mutant(seeds, target.name, number, text=target.text)
            began = time.process_time()
            outcome = outcome_of(target, read, data)
            print(number, outcome, round(1000 * (time.process_time() - began)), file=lines)
        print("peak", round((_peak() - before) / (1 << 20)), file=lines)
    return 0


def outcome_of(target: Target, read: Read, data: bytes) -> str:
    """What becomes of an input."""
    typed: tuple[type[Exception], ...] = (LiveFusionError, *target.also)
    try:
        read(data)
    except typed:
        return REFUSED
    except Exception as error:  # border: that is what is looked for
        return type(error).__name__
    return READ


def _peak(*, clear: bool = False) -> int:
    """Most bytes of memory since it was cleared; of now where the system does not count that."""
    with suppress(OSError, StopIteration, ValueError):
        if clear:
            Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)
        status = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in status if line.startswith("VmHWM:")))
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
