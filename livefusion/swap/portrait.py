"""What an identity looks like, for networks that have to see whose face they make."""

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.alignment import five_points, similarity_onto
from livefusion.core.face import Identity, Landmarks, Portrait
from livefusion.core.geometry import Affine
from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.shape import fit_pose
from livefusion.swap.neural.template import template

Rgb = npt.NDArray[np.uint8]

_SIDE, _FACE_HEIGHT = 512, 317.44
_IRIS_POINTS = 5
PORTRAIT_SIDE = 256
MOST_PORTRAITS = 8
"""More photos tell a recogniser nothing new, and make the identity's file large."""


def portrait_of_photo(rgb: Rgb, landmarks: Landmarks) -> Portrait:
    """The face of a (height, width, 3) photo with its (478, 3) landmarks, from hair to collar."""
    points = five_points(landmarks)
    to_crop = similarity_onto(points, template("ffhq_512", PORTRAIT_SIDE))
    crop = shrink_and_warp(rgb, to_crop, PORTRAIT_SIDE)
    return Portrait(crop, to_crop(points).astype(np.float32))


def shrink_and_warp(rgb: Rgb, to_crop: Affine, side: int) -> Rgb:
    """A (side, side, 3) crop, blurred first where it shrinks: bilinear sampling alone would miss pixels."""
    shrink = 1 / max(1e-6, float(np.sqrt(abs(np.linalg.det(to_crop.matrix[:, :2])))))
    if shrink > 1:
        # The deviation of a pixel that covers so many, less that of one.
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.42 * np.sqrt(shrink**2 - 1) + 1e-3), np.uint8)
    flags, border = cv2.INTER_LINEAR, cv2.BORDER_REPLICATE
    return np.asarray(
        cv2.warpAffine(rgb, to_crop.matrix, (side, side), flags=flags, borderMode=border), np.uint8
    )


def portrait(
    identity: Identity, side: int = _SIDE, face_height: float = _FACE_HEIGHT
) -> tuple[Rgb, Landmarks]:
    """A (side, side, 3) picture of an identity of texture and shape alone, and its (478, 3) landmarks.

    Round the face is the colour of the skin; the eyes are those of the texture.
    """
    canonical = canonical_mesh()
    level = fit_pose(identity.shape, canonical.vertices)(identity.shape)
    level -= level.mean(axis=0)
    points = (level * face_height / np.ptp(level[:, 1]) + (side / 2, side / 2, 0)).astype(np.float32)
    opaque = identity.texture.copy()
    opaque[..., 3] = 255
    picture = np.empty((side, side, 4), np.uint8)
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
