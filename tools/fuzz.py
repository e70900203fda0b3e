"""Feeds damaged inputs to every parser that reads what others wrote, each in a child process.

    python tools/fuzz.py [--mutants 10000] [--first 0] [TARGET ...]

Mutants are numbered: the same number is the same mutant on every machine, and ``--save FOLDER`` writes those
that were not stood, for a test of their own. Ends with status 1 if there is one.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from livefusion.testing.fuzz.mutate import mutant
from livefusion.testing.fuzz.run import FuzzResult, fuzz
from livefusion.testing.fuzz.targets import TARGETS, Target


def main() -> int:
    """Fuzz the targets that are named, or all."""
    parser = argparse.ArgumentParser(description="Damaged inputs for every parser.")
    parser.add_argument("targets", nargs="*", choices=[[], *(target.name for target in TARGETS)], default=[])
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--save", type=Path, help="folder for what was not stood")
    asked = parser.parse_args()
    print(
        "| parser | mutants | read | refused | slowest | memory | not stood |\n|---|---|---|---|---|---|---|"
    )
    held = True
    for target in TARGETS:
        if asked.targets and target.name not in asked.targets:
            continue
        began = time.monotonic()
        result = fuzz(target, asked.first, asked.mutants)
        held &= result.held
        print(f"{_row(result)} <!-- {time.monotonic() - began:.0f} s -->", flush=True)
        if asked.save is not None and result.faults:
            _save(target, result, asked.save)
    return 0 if held else 1


def _row(result: FuzzResult) -> str:
    faults = ", ".join(f"{fault.number}: {fault.what}" for fault in result.faults[:5])
    told = f"{len(result.faults)} ({faults})" if faults else "0"
    return (
        f"| {result.name} | {result.mutants} | {result.read} | {result.refused} | {result.slowest_ms} ms "
        f"| +{result.grown_mib} MiB | {told} |"
    )


def _save(target: Target, result: FuzzResult, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        seeds, _ = target.make(Path(scratch))
    for fault in result.faults:
        data = mutant(seeds, target.name, fault.number, text=target.text)
        (folder / f"{target.name}-{fault.number}").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
