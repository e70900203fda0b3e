"""How much of each vertex shows, by how its part of the head is turned to the viewer.

The rim of a face ends in a feather of the texture's alpha. On a turned head the far rim lies behind the
cheek, and the cheek's horizon would be a hard edge: so what turns away fades out. It is the head that turns
away, not its relief: the far side of the nose and the wings of the nostrils look aside and are seen all the
same, and if they faded, the performer's own nose would show beside the new one. So a vertex faces the viewer
where an ellipsoid round the head does. The inner face that is seen is covered then, however the head turns;
what is hidden is hidden by what is drawn before it. A head that is turned too far to be measured is doubtful
to the analysis, and the safety policy covers it.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from livefusion.swap.mesh.canonical import CHEEK_SIDES, CHIN, FOREHEAD_TOP, Floats, canonical_mesh

# A vertex whose normal has this much of it towards the viewer starts to show, and shows fully.
_HIDDEN, _FULL = 0.06, 0.36
# Half height and half depth of the ellipsoid, in half widths of the face; its middle lies between the ears.
_HEIGHT, _DEPTH = 1.6, 1.15


def facing_weight(normals: Floats, viewer: npt.NDArray[np.floating]) -> Floats:
    """(468,) weights in [0, 1] of vertices with (468, 3) unit ``normals``, 1 for what faces the viewer.

    ``viewer`` is the unit vector (3,) into the picture, in the pose of the normals.
    """
    towards = -(normals @ viewer.astype(np.float32))
    weight: Floats = np.minimum(np.maximum((towards - _HIDDEN) * (1 / (_FULL - _HIDDEN)), 0), 1)
    weight *= weight * (3 - 2 * weight)
    return weight


@cache
def head_normals() -> Floats:
    """(468, 3) unit normals, towards the outside, of an ellipsoid round the canonical head."""
    points = canonical_mesh().vertices.astype(np.float64)
    right, left = points[list(CHEEK_SIDES)]
    middle = (right + left) / 2
    middle[1] = (points[FOREHEAD_TOP, 1] + points[CHIN, 1]) / 2
    normals = (points - middle) / (1, _HEIGHT**2, _DEPTH**2)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals, np.float32)
