"""Files and folders that only their owner can read: keys, consents, faces, the audit log.

POSIX has modes for it: 0600 and 0700. Windows has none of those; there a folder's inherited rights are
replaced by full access for the user alone, which everything made in it inherits.
"""

import contextlib
import errno
import logging
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from livefusion.core.errors import IdentityError

OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
MOST_BYTES = 1 << 20
_OTHERS = 0o077

_log = logging.getLogger(__name__)


def make_private_folder(folder: Path) -> None:
    """Make a folder for its owner alone; one that others may read is closed to them.

    ``IdentityError`` if the disk or the rights do not allow it.
    """
    try:
        is_new = not folder.is_dir()
        folder.mkdir(mode=OWNER_FOLDER, parents=True, exist_ok=True)
        if sys.platform == "win32":
            if is_new:
                _close_on_windows(folder)
        elif folder.stat().st_mode & _OTHERS:
            folder.chmod(OWNER_FOLDER)
    except OSError as error:
        raise unwritable(folder, error) from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, in one step: either all of it or nothing.

    The folder is made with the same care. ``IdentityError`` if the disk or the rights do not allow it.
    """
    part = _written_beside(path, content)
    try:
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(path, error) from error


def write_private_once(path: Path, content: bytes) -> bool:
    """The same for a file that must not be there yet: False, and nothing changed, if another was first."""
    part = _written_beside(path, content)
    try:
        os.link(part, path)  # the only step that two processes cannot both take
    except FileExistsError:
        return False
    except OSError as error:  # a file system without hard links
        if path.exists():
            return False
        with contextlib.suppress(OSError):
            part.rename(path)
            return True
        raise unwritable(path, error) from error
    finally:
        part.unlink(missing_ok=True)
    return True


def read_private(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of at most so many bytes. ``OSError`` for anything else.

    A pipe would be waited for without an end, and a device has none.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        require_regular(handle)
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def require_regular(handle: int) -> None:
    """``OSError`` unless a regular file is open there."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def is_private(path: Path) -> bool:
    """Whether nobody but its owner may read a file or folder; on Windows its folder's rights decide."""
    return sys.platform == "win32" or not path.stat().st_mode & _OTHERS


def windows_command(folder: Path, user: str) -> Sequence[str]:
    """What closes a folder on Windows: nothing inherited, full access for the user, here and below."""
    return ("icacls", str(folder), "/inheritance:r", "/grant:r", f"{user}:(OI)(CI)F")


def unwritable(path: Path, error: OSError) -> IdentityError:
    """The error for what cannot be written."""
    full = error.errno == errno.ENOSPC
    remedy = "free the disk or set LIVEFUSION_HOME" if full else "set LIVEFUSION_HOME to a folder of yours"
    return IdentityError(f"cannot write {path} ({error.strerror})", remedy)


def _written_beside(path: Path, content: bytes) -> Path:
    make_private_folder(path.parent)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 by its contract
    except OSError as error:
        raise unwritable(path, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(OWNER_FILE)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(path, error) from error
    return part


def _close_on_windows(folder: Path) -> None:
    command = windows_command(folder, os.environ.get("USERNAME", ""))
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        # The user's own data folder is closed to others anyway; a shared one is worth a word.
        _log.warning("the rights of %s could not be set (%s): see who may read it", folder, error)
