"""How much of the performer's face a new one leaves bare: at holes of its texture, at lips and lids."""

from functools import cache

import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import TEXTURE_SIZE, Floats, canonical_mesh
from livefusion.swap.mesh.mask import face_mask
from livefusion.swap.mesh.shape import near_eyes, near_mouth


def skin_coverage(alpha: npt.NDArray[np.uint8]) -> float:
    """Share in [0, 1] of what a whole face hides that a texture's alpha (1024, 1024) uint8 hides.

    Hair over the forehead of a photo is cut out, and what is no person is: little may be left.
    """
    whole = face_mask()
    return float((np.minimum(alpha / np.float32(255), whole)).sum() / whole.sum())


def bared(mouth: float, eyes: float) -> float:
    """Share in [0, 1] of the face that shows the performer's own lips and lids.

    ``mouth`` and ``eyes`` in [0, 1] are how much of the new ones is taken.
    """
    lips, lids = _feature_shares()
    return (1 - mouth) * lips + (1 - eyes) * lids


@cache
def _feature_shares() -> tuple[float, float]:
    """The shares of lips and lids in what a whole face hides, seen from the front."""
    mesh = canonical_mesh()
    corners = mesh.vertices[mesh.triangles, :2].astype(np.float64)
    (x1, y1), (x2, y2) = (np.moveaxis(corners[:, other] - corners[:, 0], 1, 0) for other in (1, 2))
    texels = np.clip(np.rint(mesh.texels()).astype(int), 0, TEXTURE_SIZE - 1)
    alpha = face_mask()[texels[:, 1], texels[:, 0]]
    weight = np.abs(x1 * y2 - x2 * y1) * alpha[mesh.triangles].mean(axis=1)

    def share(near: Floats) -> float:
        return float((weight * near[mesh.triangles].mean(axis=1)).sum() / weight.sum())

    return share(near_mouth()), share(near_eyes())
