"""MediaPipe's canonical face: 468 vertices with texture coordinates, 898 triangles.

It is kept in `geometry_pipeline_metadata_landmarks.binarypb`, a protocol buffer whose `canonical_mesh`
message (mediapipe/tasks/cc/vision/face_geometry/proto/mesh_3d.proto) holds a float vertex buffer of
x, y, z, u, v and an index buffer. The few wire types in use are read here, without the protobuf runtime.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VERTEX_BUFFER, _INDEX_BUFFER = 3, 4
_FLOATS_A_VERTEX = 5
# The mesh is by far the largest submessage of the file; its siblings are a few numbers each.
_SMALLEST_MESH = 5000


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """Return the base-128 number at `position` and the position after it."""
    number = shift = 0
    while True:
        byte = content[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, position


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of one protocol buffer message; fixed-size and nested values stay bytes."""
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        wire = key & 7
        if wire == _VARINT:
            number, position = _varint(content, position)
            yield key >> 3, number
            continue
        if wire == _BYTES:
            size, position = _varint(content, position)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(f"protocol buffer wire type {wire} at byte {position}")
        yield key >> 3, content[position : position + size]
        position += size


def _packed_varints(content: bytes) -> Iterator[int]:
    position = 0
    while position < len(content):
        number, position = _varint(content, position)
        yield number


def parse_mesh(content: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return vertices (n×5 float32: x, y, z, u, v) and triangles (m×3 int32) of the metadata file.

    Raises ValueError when the file holds no mesh.
    """
    vertices: list[float] = []
    indices: list[int] = []
    for _, message in _fields(content):
        if not isinstance(message, bytes) or len(message) < _SMALLEST_MESH:
            continue
        for number, value in _fields(message):
            if number == _VERTEX_BUFFER and isinstance(value, bytes):
                vertices += struct.unpack(f"<{len(value) // 4}f", value)
            elif number == _INDEX_BUFFER:
                indices += [value] if isinstance(value, int) else _packed_varints(value)
    if not vertices or not indices:
        raise ValueError("the metadata file holds no mesh")
    return (
        np.asarray(vertices, np.float32).reshape(-1, _FLOATS_A_VERTEX),
        np.asarray(indices, np.int32).reshape(-1, 3),
    )


def canonical_mesh_npz(content: bytes) -> bytes:
    """Return an uncompressed .npz with `vertices` 468×3 float32, `uv` 468×2 float32, `triangles` 898×3 int32.

    Uncompressed (20 KB), because deflate differs between zlib versions and the file has a pinned sha256.
    """
    mesh, triangles = parse_mesh(content)
    target = io.BytesIO()
    np.savez(target, vertices=mesh[:, :3].copy(), uv=mesh[:, 3:].copy(), triangles=triangles)
    return target.getvalue()
