"""The second judge's process: faces on stdin, descriptors on stdout.

Run as ``python second_child.py NETWORK`` with dlib on ``PYTHONPATH``. A message is eight bytes of length,
then an .npz: ``faces`` (n, s, s, 3) uint8 RGB with ``points`` (n, 5, 2); the answer, ``descriptors``
(n, 128). It imports nothing of ours, and the product never imports what it uses.
"""

import io
import struct
import sys
from typing import Any, BinaryIO

import numpy as np

_LENGTH = struct.Struct("<Q")
_CHIP, _PADDING = 150, 0.25


def serve(network: str, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the requests end."""
    import dlib

    model = dlib.face_recognition_model_v1(network)
    while len(head := requests.read(_LENGTH.size)) == _LENGTH.size:
        with np.load(io.BytesIO(requests.read(_LENGTH.unpack(head)[0]))) as arrays:
            faces, points = arrays["faces"], arrays["points"]
        found = [_describe(dlib, model, face, five) for face, five in zip(faces, points, strict=True)]
        content = io.BytesIO()
        np.savez(content, descriptors=np.array(found, np.float64).reshape(-1, 128))
        answers.write(_LENGTH.pack(content.tell()) + content.getvalue())
        answers.flush()


def _describe(dlib: Any, model: Any, face: Any, five: Any) -> Any:
    height, width = face.shape[:2]
    whole = dlib.rectangle(0, 0, width - 1, height - 1)
    parts = dlib.points([dlib.point(int(x), int(y)) for x, y in np.rint(five)])
    chip = dlib.get_face_chip(face, dlib.full_object_detection(whole, parts), _CHIP, _PADDING)
    return np.array(model.compute_face_descriptor(chip))


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)
