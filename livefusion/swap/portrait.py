"""What an identity looks like from the front, for networks that have to see whose face they make."""

import numpy as np
import numpy.typing as npt

from livefusion.core.face import Identity, Landmarks
from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.shape import fit_pose

Rgb = npt.NDArray[np.uint8]

_SIDE, _FACE_SHARE = 512, 0.62
_IRIS_POINTS = 5


def portrait(identity: Identity) -> tuple[Rgb, Landmarks]:
    """A (512, 512, 3) picture of an identity of texture and shape alone, and its (478, 3) landmarks.

    Round the face is the colour of the skin; the eyes are those of the texture.
    """
    canonical = canonical_mesh()
    level = fit_pose(identity.shape, canonical.vertices)(identity.shape)
    level -= level.mean(axis=0)
    centre = (_SIDE / 2, _SIDE / 2, 0)
    points = (level * (_FACE_SHARE * _SIDE / np.ptp(level[:, 1])) + centre).astype(np.float32)
    opaque = identity.texture.copy()
    opaque[..., 3] = 255
    picture = np.empty((_SIDE, _SIDE, 4), np.uint8)
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
    eyes = [points[list(eye)].mean(axis=0) for eye in (RIGHT_EYE, LEFT_EYE)]
    irises = [np.repeat(eye[None], _IRIS_POINTS, 0) for eye in eyes]
    return np.ascontiguousarray(picture[..., :3]), np.concatenate([points, *irises]).astype(np.float32)
