"""Whom a persona resembles: seen alone from the front, and as the result of swaps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from livefusion.blend.blender import Blender
from livefusion.core.color import ColorInfo
from livefusion.core.face import FaceTrack, Identity, Landmarks, TrackState
from livefusion.core.frame import Frame
from livefusion.core.geometry import Box, Size
from livefusion.core.settings import SwapSettings
from livefusion.core.timing import Timestamp
from livefusion.devices.cpu import CpuDevice
from livefusion.devices.pool import FramePool
from livefusion.evaluation.portrait import portrait
from livefusion.faces.embed import Embedding
from livefusion.faces.photo import PhotoFaces
from livefusion.ops.registry import NV12_TO_RGB, RGB_TO_NV12
from livefusion.swap.mesh.engine import MeshEngine

Rgb = npt.NDArray[np.uint8]
Face = tuple[Rgb, Landmarks]


def embed_frontal(identity: Identity, faces: PhotoFaces) -> Embedding:
    """The embedding of the whole texture on its own shape, seen from the front on its own mean colour."""
    rgb, landmarks = portrait(identity)
    return faces.embed(rgb, landmarks)


class Stage:
    """Puts a persona on performers in photos."""

    def __init__(self, identity: Identity) -> None:
        self._device = CpuDevice()
        self._stream = self._device.stream("build")
        self._engine = MeshEngine(self._device)
        self._blender = Blender(self._device)
        self._identity = identity
        self._engine.prepare(identity)

    def swap(self, rgb: Rgb, landmarks: Landmarks, settings: SwapSettings | None = None) -> Rgb:
        """The photo (cut to even sides) with the persona on the face with these landmarks."""
        size = Size(rgb.shape[1], rgb.shape[0]).even
        picture = rgb[: size.height, : size.width].copy()
        buffer = FramePool(self._device, size).acquire(self._stream)
        color = ColorInfo()
        RGB_TO_NV12.body("cpu")(rgb=picture, luma=buffer.luma, chroma=buffer.chroma, color=color)
        frame = Frame(0, "photo", Timestamp(0, Fraction(1)), 0, size, color, buffer)
        track = FaceTrack(0, TrackState.SEEN, Box.around(landmarks), landmarks)
        self._blender.reset()
        settings = settings or SwapSettings()
        patch = self._engine.swap(frame, track, self._identity, settings, self._stream)
        if patch is not None:
            self._blender.blend(frame, patch, track, settings, self._stream)
        NV12_TO_RGB.body("cpu")(luma=buffer.luma, chroma=buffer.chroma, rgb=picture, color=color)
        return picture


def highest_cosine(
    identity: Identity, own: Sequence[Face], others: Sequence[Face], faces: PhotoFaces
) -> float:
    """How alike the persona and the likest contributor are: alone, and on every other own contributor's face.

    ``own`` are the faces in it, ``others`` those in other personas. Each of its own plays the performer once;
    then only the others of them are compared, for the performer may show through.
    """
    known = [faces.embed(rgb, landmarks) for rgb, landmarks in own]
    alone = embed_frontal(identity, faces)
    highest = max(float(alone @ other) for other in [*known, *(faces.embed(*face) for face in others)])
    stage = Stage(identity)
    for index, (rgb, landmarks) in enumerate(own):
        result = faces.embed(stage.swap(rgb, landmarks), landmarks)
        highest = max(
            highest, *(float(result @ other) for place, other in enumerate(known) if place != index)
        )
    return highest
