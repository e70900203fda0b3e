"""Paths as people write them."""

import os
from pathlib import Path


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, there or yet to be made, through links and detours too."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is not there, or no file could be called that
        return os.path.realpath(one) == os.path.realpath(other)


def leads_somewhere(path: Path) -> bool:
    """``Path.exists``, but False also for a name that is too long or has a NUL in it."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
