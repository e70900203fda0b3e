"""How pictures get from pyvirtualcam's camera to its device.

On Linux they are written here, on the descriptor that pyvirtualcam opened and set up. Its own ``send`` (0.15)
prints to stderr what the driver refuses and returns as if all were well, a short write included; and it
holds Python's lock while the driver copies: a write that hung for three seconds stopped every thread of the
process for 3.09 s. It also copies each picture once more. On Windows and macOS ``send`` copies into shared
memory, which does not fail, and is used as it is.
"""

import errno
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Picture = npt.NDArray[np.uint8]
Write = Callable[[Picture], None]
"""Takes a whole picture; raises ``OSError`` if the driver does not."""
_DESCRIPTORS = Path("/proc/self/fd")


def open_descriptors() -> frozenset[int]:
    """The descriptors of this process; none where the system does not tell."""
    try:
        listed = [int(name) for name in os.listdir(_DESCRIPTORS)]
    except OSError:
        return frozenset()
    return frozenset(one for one in listed if _target(one))  # that of the list itself is closed again


def choose_write(camera: Any, native: bool, before: frozenset[int]) -> Write:
    """How to write to an open ``pyvirtualcam.Camera``; ``before`` are the descriptors before it was opened.

    ``native`` says that the device takes pictures as they are given, without a conversion in between. Where
    the device is not found among the descriptors it is the camera's own ``send``.
    """
    device = os.path.realpath(camera.device)
    found = [one for one in open_descriptors() - before if _target(one) == device]
    if native and len(found) == 1:
        return partial(write_whole, found[0])
    send: Write = camera.send
    return send


def write_whole(descriptor: int, picture: Picture) -> None:
    """Write a picture with one call, which is what the driver takes for one; ``OSError`` if it takes less."""
    taken = os.write(descriptor, picture.data)
    if taken != picture.nbytes:
        raise OSError(errno.EIO, f"it took {taken} of {picture.nbytes} bytes")


def _target(descriptor: int) -> str:
    try:
        return os.readlink(f"{_DESCRIPTORS}/{descriptor}")
    except OSError:  # closed meanwhile by another thread
        return ""
