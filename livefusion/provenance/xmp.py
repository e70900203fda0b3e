"""XMP in an MP4: a box of its own at the file's top level (Adobe XMP specification, part 3)."""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from livefusion.core.errors import InputError, OutputError

XMP_BOX = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
"""The type of the box that holds an XMP packet."""
MOST_BYTES = 1 << 20
"""A packet that is larger is not read."""
_MOST_BOXES = 100_000  # a fragment each half second for twelve hours


def read_xmp(path: Path) -> bytes | None:
    """The XMP packet of an MP4; None if it has none or is no MP4. ``InputError`` if it cannot be read."""
    try:
        with path.open("rb") as file:
            for kind, start, size in _boxes(file):
                if kind == b"uuid" and 16 <= size <= MOST_BYTES:
                    file.seek(start)
                    body = file.read(size)
                    if body[:16] == XMP_BOX:
                        return body[16:]
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})", "check the name") from error
    return None


def append_xmp(path: Path, packet: bytes) -> None:
    """Put an XMP packet behind everything else of an MP4. ``OutputError`` if the file cannot be changed."""
    try:
        with path.open("ab") as file:
            file.write(struct.pack(">I4s", 24 + len(packet), b"uuid") + XMP_BOX + packet)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "free the disk") from error


def _boxes(file: BinaryIO) -> Iterator[tuple[bytes, int, int]]:
    """Type, start and size of the content of each box at the top level, as far as they make sense."""
    end = file.seek(0, os.SEEK_END)
    at = 0
    for _ in range(_MOST_BOXES):
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return
        size, kind = struct.unpack(">I4s", head[:8])
        length = 8
        if size == 1 and len(head) == 16:
            size, length = struct.unpack(">Q", head[8:])[0], 16
        elif size == 0:
            size = end - at
        if size < length or at + size > end:
            return
        yield kind, at + length, size - length
        at += size
