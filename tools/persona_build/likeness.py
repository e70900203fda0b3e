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
from livefusion.faces.embed import Embedding
from livefusion.faces.photo import PhotoFaces
from livefusion.ops.registry import DRAW_MESH, NV12_TO_RGB, RGB_TO_NV12
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.engine import MeshEngine
from livefusion.swap.mesh.shape import fit_pose

Rgb = npt.NDArray[np.uint8]
Face = tuple[Rgb, Landmarks]

_VIEW, _FACE_HEIGHT = 320, 230.0
_IRIS_POINTS = 5


def embed_frontal(identity: Identity, faces: PhotoFaces) -> Embedding:
    """The embedding of the whole texture on its own shape, seen from the front on its own mean colour."""
    rgb, landmarks = render_frontal(identity)
    return faces.embed(rgb, landmarks)


def render_frontal(identity: Identity) -> tuple[Rgb, Landmarks]:
    """A (320, 320, 3) picture of an identity, eyes and mouth included, and its landmarks."""
    canonical = canonical_mesh()
    level = fit_pose(identity.shape, canonical.vertices)(identity.shape)
    level -= level.mean(axis=0)
    points = (level * _FACE_HEIGHT / np.ptp(level[:, 1]) + (_VIEW / 2, _VIEW / 2, 0)).astype(np.float32)
    opaque = identity.texture.copy()
    opaque[..., 3] = 255
    picture = np.empty((_VIEW, _VIEW, 4), np.uint8)
    DRAW_MESH.body("cpu")(
        vertices=np.ascontiguousarray(points[:, :2]),
        depth=np.ascontiguousarray(points[:, 2]),
        uv=canonical.texels(),
        weight=np.ones(VERTEX_COUNT, np.float32),
        triangles=canonical.triangles,
        texture=opaque,
        patch=picture,
    )
    picture[picture[..., 3] == 0, :3] = identity.texture[0, 0, :3]
    irises = [
        np.repeat(points[list(eye)].mean(axis=0)[None], _IRIS_POINTS, 0) for eye in (RIGHT_EYE, LEFT_EYE)
    ]
    return np.ascontiguousarray(picture[..., :3]), np.concatenate([points, *irises]).astype(np.float32)


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
