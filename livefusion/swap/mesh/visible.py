"""Which triangles of the mesh show anything of a texture: the others are not drawn."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import INNER_LIPS, canonical_mesh


def visible_triangles(alpha: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
    """The (n, 3) int32 triangles that hold a texel with ``alpha`` (side, side) above 0, less the mouth's.

    Between the lips the canonical face is a slit of few texels: no hole in the alpha could open it wholly.
    """
    mesh = canonical_mesh()
    places = np.round(mesh.texels(alpha.shape[0])).astype(np.int32)
    skin = mesh.triangles[~np.isin(mesh.triangles, INNER_LIPS).all(axis=1)]
    shown = [corners for corners in skin if _shows(alpha, places[corners])]
    return np.ascontiguousarray(np.reshape(shown, (-1, 3)), np.int32)


def _shows(alpha: npt.NDArray[np.uint8], corners: npt.NDArray[np.int32]) -> bool:
    left, top = np.clip(corners.min(axis=0), 0, alpha.shape[0] - 1)
    right, bottom = np.clip(corners.max(axis=0) + 1, 1, alpha.shape[0])
    window = alpha[top:bottom, left:right]
    inside = np.zeros(window.shape, np.uint8)
    cv2.fillConvexPoly(inside, corners - (left, top), 1)
    return bool(np.any(window[inside > 0]))
