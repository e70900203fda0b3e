"""Arrays from files of NumPy, on any thread."""

import threading
import zlib
from lzma import LZMAError
from typing import Any, BinaryIO, Final
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

_PARSING: Final = threading.Lock()
"""NumPy reads the head of each array by ``ast.literal_eval``, and two threads at once in the parser of
CPython 3.11 fail with a SystemError, now and then: graphs that start together, and the parts of one."""


def read_arrays(file: BinaryIO) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an ``.npz`` archive by name.

    ``OSError``, ``EOFError``, ``ValueError`` or ``BadZipFile`` if the file is none or damaged.
    """
    try:
        with _PARSING, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (zlib.error, LZMAError, RuntimeError, MemoryError) as error:
        # Among them: encrypted, packed in a way that is not known, of more elements than there is memory.
        raise BadZipFile(str(error) or type(error).__name__) from error
    except (AttributeError, TypeError) as error:  # a file of a single array is not told from an archive
        raise ValueError("it is no archive of arrays") from error
