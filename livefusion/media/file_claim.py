"""A file that one program at a time may write. Two that write the same one leave a file of neither."""

import os
import sys
from pathlib import Path

from livefusion.core.errors import OutputError

if sys.platform != "win32":
    import fcntl


class FileClaim:
    """An empty file at ``path``, claimed until ``release`` or the end of the process, however it ends.

    Raises ``OutputError`` if another run has claimed it, whose file is then left as it is, and ``OSError``
    if it cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        try:
            if path.is_file():  # a device belongs to everybody and has no length
                self._lock(path)
                os.ftruncate(self._descriptor, 0)
        except BaseException:  # also Ctrl-C: a claim without an owner would stay
            self.release()
            raise

    def release(self) -> None:
        """Let others write the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _lock(self, path: Path) -> None:
        if sys.platform == "win32":  # has no such lock
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"{path} is being written by another run", "choose another name") from error
        except OSError:  # a file system without locks: better unguarded than not at all
            return
