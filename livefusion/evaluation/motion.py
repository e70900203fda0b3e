"""Carrying a face from one picture to the next along its mesh."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import Landmarks
from livefusion.core.geometry import Region
from livefusion.evaluation.picture import Plane
from livefusion.swap.mesh.canonical import VERTEX_COUNT, canonical_mesh

Floats = npt.NDArray[np.float32]


class MeshMotion:
    """The map from the pixels of a window to where they were one picture earlier."""

    def __init__(self, before: Landmarks, now: Landmarks, window: Region) -> None:
        from livefusion.ops.cpu.raster import raster_uv

        shape = (window.height, window.width)
        self._map, self.cover = np.zeros((*shape, 2), np.float32), np.zeros(shape, np.float32)
        corner = np.array([window.x, window.y], np.float32)
        points = now[:VERTEX_COUNT].astype(np.float32)
        raster_uv(
            vertices=np.ascontiguousarray(points[:, :2] - corner),
            depth=np.ascontiguousarray(points[:, 2]),
            uv=np.ascontiguousarray(before[:VERTEX_COUNT, :2], np.float32),
            weight=np.ones(VERTEX_COUNT, np.float32),
            triangles=canonical_mesh().triangles,
            map=self._map,
            cover=self.cover,
            zbuffer=np.empty(shape, np.float32),
        )

    def carry(self, plane: Plane) -> Floats:
        """The earlier picture's plane where its pixels are now, (h, w) of the window; 0 off the mesh."""
        source = plane.astype(np.float32)
        carried = cv2.remap(source, self._map[..., 0], self._map[..., 1], cv2.INTER_CUBIC)
        return np.where(self.cover > 0, carried, np.float32(0)).astype(np.float32)
