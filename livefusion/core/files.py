"""Files that are written for the user: whole or not at all, and with words for what stands in the way."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from livefusion.core.errors import OutputError

_ELSEWHERE = "choose another file or folder"
_WORDS = {
    errno.ENOSPC: ("the disk is full", "free some space or choose another folder"),
    errno.EROFS: ("its disk can only be read", "choose another folder"),
    errno.ENAMETOOLONG: ("its name is too long", "choose a shorter one"),
    errno.EISDIR: ("it is a folder", "name a file in it"),
    errno.EFBIG: ("it is too large for its disk", "choose another folder"),
    errno.ENXIO: ("nobody reads that pipe", "start its reader first"),
    errno.EEXIST: ("it is there already", "name another file"),
}
_DENIED = (errno.EACCES, errno.EPERM)
_QUOTA = getattr(errno, "EDQUOT", None)  # not on Windows


def cannot_write(path: Path, error: OSError) -> OutputError:
    """The error for a file that the system refuses: what is wrong with it, and what to do."""
    why, remedy = _explained(path, error)
    return OutputError(f"{path} cannot be written ({why})", remedy)


def cannot_make(folder: Path, error: OSError) -> OutputError:
    """The same for a folder."""
    why, remedy = _explained(folder, error)
    if error.errno == errno.EEXIST:
        why, remedy = "it is a file", "name a folder"
    return OutputError(f"the folder {folder} cannot be made ({why})", remedy)


def obstacle(path: Path) -> OutputError | None:
    """What stands in the way of writing a file, found out by trying; nothing is changed or left behind.

    Rights alone do not tell: the administrator has all of them, in places too where nothing can be made. A
    pipe or a device that is there is not tried.
    """
    try:
        if path.is_dir():
            raise _refusal(errno.EISDIR)
        if not path.exists():
            # Under a name of its own: another run may make the file at this moment, or finish it.
            part, handle = _part_beside(Path(os.path.realpath(path)))
            os.close(handle)
            part.unlink()
        elif path.is_file():
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        elif not os.access(path, os.W_OK):
            raise _refusal(errno.EACCES)
    except OSError as error:
        return cannot_write(path, error)
    except ValueError:  # a NUL
        return OutputError(f"{str(path)!r} cannot be written (no file can be called that)", _ELSEWHERE)
    return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one step, so that what was there stays if it cannot be done; through links, too.

    Pipes and devices take it as it comes. ``OutputError`` says what is wrong.
    """
    try:
        if _takes_as_it_comes(path):
            _pour(path, content)
        else:
            _replace(Path(os.path.realpath(path)), content)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_new(path: Path, content: bytes) -> None:
    """Write a file that must not be there yet: all of it or nothing. ``OutputError`` says what is wrong."""
    try:
        with path.open("xb") as file:
            _fill_or_remove(file.fileno(), path, content)
    except OSError as error:
        raise cannot_write(path, error) from error


def _takes_as_it_comes(path: Path) -> bool:
    """Whether a path is a pipe, a device, or names something that is open, as /dev/stdout does."""
    if path.is_dir():
        raise _refusal(errno.EISDIR)
    return path.exists() and (not path.is_file() or path.absolute().parts[1:2] in (("dev",), ("proc",)))


def _pour(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for its reader
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def _replace(path: Path, content: bytes) -> None:
    part, handle = _part_beside(path)
    with os.fdopen(handle, "wb"):
        _fill_or_remove(handle, part, content)
    try:
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _part_beside(path: Path) -> tuple[Path, int]:
    """A new file in the same folder, open for writing, with the rights of any new file."""
    part = path.with_name(f".{secrets.token_hex(6)}.part")
    return part, os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)


def _fill_or_remove(handle: int, path: Path, content: bytes) -> None:
    """Write all of it; what ends it early, Ctrl-C too, leaves no half of a file."""
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(handle, left) :]
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _refusal(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _explained(path: Path, error: OSError) -> tuple[str, str]:
    """Why, and what to do."""
    number, folder = error.errno, path.parent
    if number in _DENIED:
        what = "it" if _is_there(path) else f"the folder {folder}"
        return f"{what} may not be changed", _ELSEWHERE
    if number == errno.ENOTDIR or (number == errno.ENOENT and _is_there(folder) and not folder.is_dir()):
        return f"{folder} is no folder", "choose another one"
    if number == errno.ENOENT:
        if _is_there(folder):
            return f"nothing can be made in {folder}", "choose another folder"
        return f"there is no folder {folder}", "make it, or choose another one"
    if number is not None and number == _QUOTA:
        return "your share of the disk is used up", "free some space or choose another folder"
    return _WORDS.get(number or 0, ((error.strerror or str(error)).lower(), _ELSEWHERE))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder on the way may not be entered
        return True
