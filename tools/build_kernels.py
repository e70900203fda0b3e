"""Compile the CUDA kernels for every architecture, without a GPU.

  python tools/build_kernels.py --check          compare what they take with budget.toml; exit 1 if it is more
  python tools/build_kernels.py --update         measure and write budget.toml
  python tools/build_kernels.py --fatbin [OUT]   write machine code, which spares the user a compiler

`--check` and `--update` need NVRTC, which the extra `cuda` installs, and ask nvcc too where there is one.
`--fatbin` needs nvcc. The fatbin is loaded from the folder of the sources, if the digest beside it is theirs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from kernel_build import budget, nvcc, nvrtc
from kernel_build.usage import ARCHITECTURES, BuildError, Usage, Usages

from livefusion.devices.kernels import FOLDER, kernel_source, source_digest

_FATBIN = FOLDER / "livefusion.fatbin"


def measure() -> tuple[Usages, list[str]]:
    """The most that each kernel takes with any of the compilers of this machine, and the compilers."""
    compilers = [("NVRTC", nvrtc), *([("nvcc", nvcc)] if nvcc.find_nvcc() else [])]
    measured: Usages = {}
    names = []
    for name, compiler in compilers:
        begun = time.monotonic()
        part = compiler.measure(kernel_source(), ARCHITECTURES)
        names.append(f"{name} {compiler.version()}")
        print(f"{names[-1]}: {_counted(part)} in {time.monotonic() - begun:.1f} s")
        for key, usage in part.items():
            measured[key] = usage.most(measured.get(key, Usage()))
    return measured, names


def check() -> int:
    """Compare with the budget; tell what exceeds it."""
    measured, _ = measure()
    allowed = budget.read_budget(budget.PATH)
    faults = [str(excess) for excess in budget.excesses(measured, allowed)]
    faults += [
        f"{kernel:<32} is in the budget but not in the source"
        for kernel in budget.strangers(measured, allowed)
    ]
    return _told(faults, f"{_counted(measured)} within their budgets")


def update() -> int:
    """Write the budget anew, unless a kernel takes what no budget may allow."""
    measured, compilers = measure()
    budget.write_budget(measured, compilers, budget.PATH)
    faults = [str(excess) for excess in budget.intolerable(measured)]
    return _told(faults, f"{budget.PATH} written")


def fatbin(output: Path) -> int:
    """Write the fatbin and, beside it, the digest of the sources that it was made of."""
    digest = output.with_suffix(".digest")
    digest.unlink(missing_ok=True)  # a digest never stands beside a fatbin of other sources
    nvcc.write_fatbin(kernel_source(), ARCHITECTURES, output, forward=max(ARCHITECTURES))
    digest.write_text(source_digest() + "\n", encoding="ascii")
    print(f"{output.stat().st_size:>10,}  {output}")
    return 0


def _counted(usages: Usages) -> str:
    kernels, architectures = {kernel for kernel, _ in usages}, {number for _, number in usages}
    return f"{len(kernels)} kernels for {len(architectures)} architectures"


def _told(faults: Iterable[str], success: str) -> int:
    faults = list(faults)
    if not faults:
        print(success)
        return 0
    print(
        "\n".join((f"{'kernel':<32} {'where':<7} {'what':<10} {'taken':>6} > allowed", *faults)),
        file=sys.stderr,
    )
    return 1


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--check", action="store_true", help="compare with the budget")
    task.add_argument("--update", action="store_true", help="write the budget")
    task.add_argument(
        "--fatbin",
        type=Path,
        nargs="?",
        const=_FATBIN,
        metavar="OUT",
        help=f"write machine code ({_FATBIN.name})",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Do the task; return the exit status."""
    arguments = _arguments(argv)
    try:
        if arguments.fatbin is not None:
            return fatbin(arguments.fatbin)
        return update() if arguments.update else check()
    except BuildError as error:
        print(f"build_kernels: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
