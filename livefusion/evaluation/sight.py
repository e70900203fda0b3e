"""Finding and following the faces of a clip by our own eyes, not by the graph's."""

from collections.abc import Sequence

import numpy as np

from livefusion.core.face import FaceObservation, Landmarks
from livefusion.core.geometry import Box
from livefusion.evaluation.picture import Rgb
from livefusion.faces.embed import Embedding, embed_photo
from livefusion.faces.landmarks import FaceMesh, landmarks_of_photo
from livefusion.faces.photo import PhotoFaces
from livefusion.faces.roi import Roi
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session

_SURE = 0.5
_SAME_FACE = 0.3
_SEARCH_EVERY = 10


class Sight:
    """The networks that look at faces. ``ModelError`` if one is missing."""

    def __init__(self) -> None:
        models = ModelRegistry.load()
        detector, self._landmarks, self._recogniser = (
            Session(models[name]) for name in ("yunet", "face_landmarks", "sface")
        )
        self.photos = PhotoFaces(detector, self._landmarks, self._recogniser)

    def mesh(self, rgb: Rgb, near: Landmarks) -> FaceMesh:
        """The mesh of the face at the landmarks ``near``."""
        return landmarks_of_photo(self._landmarks, rgb, Roi.of_landmarks(near))

    def embedding(self, rgb: Rgb, landmarks: Landmarks) -> Embedding:
        """SFace's embedding of the face with those landmarks."""
        return embed_photo(self._recogniser, rgb, landmarks)

    def search(self, rgb: Rgb) -> list[FaceMesh]:
        """The meshes of all faces that stand more or less upright."""
        seen: list[FaceObservation] = self.photos.detect(rgb)
        meshes = [self.photos.landmarks(rgb, face) for face in seen]
        return [mesh for mesh in meshes if mesh.presence >= _SURE]


class Follower:
    """Follows faces from picture to picture; each keeps its number for as long as it is seen."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._faces: dict[int, Landmarks] = {}
        self._next = 0
        self._since_search = _SEARCH_EVERY

    def follow(self, rgb: Rgb) -> dict[int, Landmarks]:
        """The (478, 3) landmarks of each face in the next picture, by number."""
        meshes = {key: self._sight.mesh(rgb, near) for key, near in self._faces.items()}
        lost = any(mesh.presence < _SURE for mesh in meshes.values())
        self._faces = {key: mesh.landmarks for key, mesh in meshes.items() if mesh.presence >= _SURE}
        self._since_search += 1
        if lost or not self._faces or self._since_search >= _SEARCH_EVERY:
            self._take_in(self._sight.search(rgb))
            self._since_search = 0
        return dict(self._faces)

    def _take_in(self, found: Sequence[FaceMesh]) -> None:
        for mesh in found:
            box = Box.around(mesh.landmarks)
            if all(box.iou(Box.around(known)) < _SAME_FACE for known in self._faces.values()):
                self._faces[self._next] = mesh.landmarks
                self._next += 1


def eye_distance(landmarks: Landmarks) -> float:
    """Pixels between the outer corners of the eyes."""
    return float(np.hypot(*(landmarks[33, :2] - landmarks[263, :2])))
