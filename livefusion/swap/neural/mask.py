"""The mask of a neural face: the outline that the mesh engine draws, in the crop of the network.

It is drawn small, in the crop: a soft mask loses nothing by it, and over 128 × 128 pixels it takes an eighth
of what it takes over a face of 450 pixels.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import Landmarks
from livefusion.core.geometry import Affine, Region
from livefusion.devices.device import Array, Device, Stream
from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.mesh.canonical import RIGID, TEXTURE_SIZE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.canvas import VertexUpload
from livefusion.swap.mesh.facing import facing_weight, head_normals
from livefusion.swap.mesh.mask import whole_mask
from livefusion.swap.mesh.shape import PoseFit, near_eyes, near_mouth
from livefusion.swap.mesh.texture import LEVEL_SIZES, to_levels
from livefusion.swap.neural.tiles import TiledPicture

SIDE: Final = 128
"""Side of the mask in pixels."""
_RIGID = np.array(RIGID)


class CropMask:
    """Draws masks of faces, ``step`` times finer than ``SIDE``. Used on one thread and one stream."""

    def __init__(self, device: Device, step: int = 1) -> None:
        self._device = device
        self._vertices = VertexUpload(device)
        self._fit = PoseFit(canonical_mesh().vertices[_RIGID])
        stream = device.stream("mask")
        rgba = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE, 4), np.uint8)
        rgba[..., 3] = whole_mask() * 255 + 0.5
        finest = min(size for size in LEVEL_SIZES if size >= SIDE * step)
        level = to_levels(rgba, ColorInfo(), device, stream)[LEVEL_SIZES.index(finest)]
        self._texels, self._uv = level.texels, level.uv
        # All of them, those between the lips and over the eyes too: the network makes both.
        triangles = np.ascontiguousarray(canonical_mesh().triangles, np.int32)
        self._triangles: Array = device.empty(triangles.shape, np.int32)
        device.copy(self._triangles, triangles, stream)
        self._mask = TiledPicture(device, SIDE, step)
        stream.synchronize()

    def draw(
        self, landmarks: Landmarks, to_crop: Affine, size: int, stream: Stream, *, mouth: float, eyes: float
    ) -> TiledPicture:
        """A picture whose alpha is the mask in a crop of ``size`` pixels, until the next one.

        ``mouth`` and ``eyes`` in [0, 1] are how much of the new ones is taken.
        """
        vertices, depth, weight = self._vertices.send(
            self._in_mask(landmarks, to_crop, size),
            self._weight(landmarks, mouth, eyes),
            Region(0, 0, self._mask.side, self._mask.side),
            stream,
        )
        arguments = {
            "vertices": vertices,
            "depth": depth,
            "uv": self._uv,
            "weight": weight,
            "triangles": self._triangles,
            "texture": self._texels,
            "patch": self._mask.whole,
        }
        self._device.launch(DRAW_MESH, arguments, stream)
        return self._mask

    def _in_mask(self, landmarks: Landmarks, to_crop: Affine, size: int) -> npt.NDArray[np.float32]:
        """(468, 3) vertices in pixels of the mask."""
        scale = self._mask.side / size
        shift = (scale - 1) / 2
        to_mask = Affine([[scale, 0, shift], [0, scale, shift]]).after(to_crop).matrix.astype(np.float32)
        mesh = landmarks[:VERTEX_COUNT].astype(np.float32)
        mesh[:, :2] = mesh[:, :2] @ to_mask[:, :2].T + to_mask[:, 2]
        return mesh

    def _weight(self, landmarks: Landmarks, mouth: float, eyes: float) -> npt.NDArray[np.float32]:
        pose = self._fit(landmarks[_RIGID])
        weight = facing_weight(head_normals(), pose.rotation[2])
        if mouth < 1:
            weight *= 1 - (1 - mouth) * near_mouth()
        if eyes < 1:
            weight *= 1 - (1 - eyes) * near_eyes()
        return weight
