"""The source of the CUDA kernels, as one text."""

import hashlib
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
MAIN = "livefusion.cu"
_KERNEL = re.compile(r"^LF_(?:PIXELS|SUMS|PHASES|TEAM)\((\w+)", re.MULTILINE)
_INCLUDE = re.compile(r'^#include "([\w.]+)"$', re.MULTILINE)


@cache
def kernel_source() -> str:
    """Every kernel in one text without includes of ours, so that a compiler's cache sees each change."""
    included: set[str] = set()

    def expand(name: str) -> str:
        if name in included:
            return ""
        included.add(name)
        text = (FOLDER / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        return _INCLUDE.sub(lambda match: expand(match[1]), text)

    return expand(MAIN)


@cache
def kernel_names() -> tuple[str, ...]:
    """Every kernel of the source, which also has each under its name with ``_at`` (``lf.h``)."""
    return tuple(f"lf_{name}" for name in _KERNEL.findall(kernel_source()))


@cache
def source_digest() -> str:
    """A short name for this very source."""
    return hashlib.sha256(kernel_source().encode()).hexdigest()[:16]
