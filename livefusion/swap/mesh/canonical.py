"""The canonical face: 468 vertices with texture coordinates, and the groups of them that have a name.

Indices are those of MediaPipe's face mesh. "Right" and "left" are the person's own, so the right eye lies to
the left in a picture.
"""

import io
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from livefusion.core.archive import read_arrays
from livefusion.inference.registry import ModelRegistry

Floats = npt.NDArray[np.float32]

VERTEX_COUNT = 468
TEXTURE_SIZE = 1024
"""Side of a baked texture in texels."""

OVAL = (
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
    *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
)
"""The outline, clockwise from the middle of the forehead: the border of the mesh."""
RIGHT_EYE = (33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7)
LEFT_EYE = (263, 466, 388, 387, 386, 385, 384, 398, 362, 382, 381, 380, 374, 373, 390, 249)
INNER_LIPS = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308, 324, 318, 402, 317, 14, 87, 178, 88, 95)
OUTER_LIPS = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
BROW_CRESTS = (105, 334)
"""The highest points of the two brows."""
RIGID = (
    *(10, 9, 8, 168, 6, 197, 195, 5, 4, 33, 133, 362, 263),
    *(130, 359, 127, 356, 234, 454, 117, 346, 50, 280),
)
"""Points that expression hardly moves: forehead, bridge of the nose, eye corners, temples, cheekbones."""
CHEEKS = (50, 280, 117, 346, 205, 425, 4, 195)
"""Points that show bare skin on nearly every photo."""
CHIN = 152
FEATURES = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300, 33, 263, 61, 291, 17, CHIN)
"""Corners of the inner face: brows, eyes, nose and mouth with the skin between them, where no hair hangs."""
OUTER_EYE_CORNERS = (33, 263)
FOREHEAD_TOP = 10
NOSE_TIP = 1
NOSE_BASE = 164
"""Between nose and upper lip."""
CHEEK_SIDES = (234, 454)


@dataclass(frozen=True, slots=True, eq=False)
class CanonicalMesh:
    """``vertices`` (468, 3) float32 (y down, smaller z nearer), ``uv`` (468, 2) float32 in [0, 1] with v down
    the face, ``triangles`` (898, 3) int32."""

    vertices: Floats
    uv: Floats
    triangles: npt.NDArray[np.int32]

    def texels(self, size: int = TEXTURE_SIZE) -> Floats:
        """(468, 2) places of the vertices on a texture of that side, integer texel centres."""
        places: Floats = (self.uv * size - 0.5).astype(np.float32)
        return places


@cache
def canonical_mesh() -> CanonicalMesh:
    """The mesh that ships. ``ModelError`` if its file is missing or damaged."""
    content = ModelRegistry.load()["canonical_mesh"].read()
    arrays = read_arrays(io.BytesIO(content))
    vertices = arrays["vertices"] * np.array([1, -1, -1], np.float32)
    return CanonicalMesh(vertices, arrays["uv"], arrays["triangles"])
