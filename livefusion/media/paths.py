"""Paths as people write them."""

import os
import stat
from pathlib import Path

from livefusion.core.errors import InputError


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


def require_file(path: Path, kind: str) -> None:
    """``InputError`` unless there is a file, which ought to be a ``kind``, and no folder, pipe or device.

    Opening a pipe would wait for its writer, and some devices have no end.
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} does not exist", "check the path") from error
    except PermissionError as error:
        raise InputError(f"{path} may not be read", "check its permissions") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} cannot be read ({reason})", "check the path") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder", f"name a {kind} in it")
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise InputError(f"{path} is a pipe or a device, not a file", "save it as a file and name that")
