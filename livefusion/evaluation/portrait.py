"""What a source looks like: its photos, or an identity of texture and shape alone, from the front."""

from pathlib import Path

import numpy as np

from livefusion.core.face import Identity, Landmarks
from livefusion.evaluation.picture import Rgb
from livefusion.evaluation.sight import Sight
from livefusion.media.paths import leads_somewhere
from livefusion.media.photo import SOURCE_SUFFIXES, SUFFIXES, list_photos, load_photo
from livefusion.ops.registry import DRAW_MESH
from livefusion.swap.mesh.canonical import LEFT_EYE, RIGHT_EYE, VERTEX_COUNT, canonical_mesh
from livefusion.swap.mesh.shape import fit_pose

_SIDE, _FACE_HEIGHT = 320, 230.0
_IRIS_POINTS = 5

View = tuple[Rgb, Landmarks]


def source_views(source: str, identity: Identity, sight: Sight) -> list[View]:
    """The faces in the photos that ``source`` leads to; the portrait where there are none."""
    path = Path(source)
    views: list[View] = []
    if source and leads_somewhere(path):
        files = list_photos(path, SOURCE_SUFFIXES) if path.is_dir() else [path]
        for photo in files:
            if photo.suffix.lower() not in SUFFIXES:
                continue
            rgb = load_photo(photo)
            faces = sight.photos.find(rgb)
            if faces and faces[0].landmarks is not None:
                views.append((rgb, faces[0].landmarks))
    return views or [portrait(identity)]


def portrait(identity: Identity) -> View:
    """A (320, 320, 3) picture of an identity from the front, on its own skin's colour, and its landmarks."""
    canonical = canonical_mesh()
    level = fit_pose(identity.shape, canonical.vertices)(identity.shape)
    level -= level.mean(axis=0)
    points = (level * _FACE_HEIGHT / np.ptp(level[:, 1]) + (_SIDE / 2, _SIDE / 2, 0)).astype(np.float32)
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
    irises = [
        np.repeat(points[list(eye)].mean(axis=0)[None], _IRIS_POINTS, 0) for eye in (RIGHT_EYE, LEFT_EYE)
    ]
    return np.ascontiguousarray(picture[..., :3]), np.concatenate([points, *irises]).astype(np.float32)
