"""Faces in a still picture: for sources, personas and tests."""

from dataclasses import replace

import cv2
import numpy as np
import numpy.typing as npt

from livefusion.core.face import FaceObservation, Landmarks
from livefusion.core.geometry import Affine, Box, Size
from livefusion.faces.detect import unturn
from livefusion.faces.embed import Embedding, embed_photo
from livefusion.faces.landmarks import FaceMesh, landmarks_of_photo
from livefusion.faces.roi import Roi
from livefusion.faces.yunet import MULTIPLE, YuNetDecoder
from livefusion.inference.network import Loaded
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session

Photo = npt.NDArray[np.uint8]
"""(height, width, 3) RGB."""

# Two real faces of one photo do not overlap by half; two findings of one face do.
_SAME_FACE = 0.4
_MOST_PASSES = 5
_SETTLED_ROLL = np.radians(3)


class PhotoFaces:
    """Finds faces in photos at any roll, with landmarks, and embeds them. One thread at a time."""

    def __init__(self, detector: Loaded, landmarks: Loaded, recogniser: Loaded) -> None:
        self._detector = detector
        self._landmarks = landmarks
        self._recogniser = recogniser

    @staticmethod
    def from_registry(registry: ModelRegistry | None = None) -> "PhotoFaces":
        """With the built-in networks on the CPU. ``ModelError`` if one is missing or damaged."""
        registry = registry or ModelRegistry.load()
        detector, landmarks, recogniser = (
            Session(registry[name]) for name in ("yunet", "face_landmarks", "sface")
        )
        return PhotoFaces(detector, landmarks, recogniser)

    def find(
        self, rgb: Photo, *, max_side: int = 640, score: float = 0.6, presence: float = 0.5
    ) -> list[FaceObservation]:
        """Every face whose landmarks are sure, largest first; ``score`` is then the presence score.

        The photo is shrunk to ``max_side`` for detection only, and is looked at in all four orientations: the
        detector is blind to faces rolled by 90° and sees upside-down ones, with the eyes where the mouth is,
        at a lower score than in the right orientation (0.88 for 0.93); so the best score decides.
        """
        seen = [
            face
            for turns in range(4)
            for face in self.detect(rgb, max_side=max_side, score=score, quarter_turns=turns)
        ]
        seen.sort(key=lambda face: -face.score)
        found: list[FaceObservation] = []
        tried: list[FaceObservation] = []
        for face in seen:
            if not _among(face.box, tried):
                tried.append(face)
                mesh = self.landmarks(rgb, face)
                box = Box.around(mesh.landmarks)
                if mesh.presence >= presence and not _among(box, found):
                    found.append(replace(face, box=box, score=mesh.presence, landmarks=mesh.landmarks))
        return sorted(found, key=lambda face: -face.box.area)

    def detect(
        self, rgb: Photo, *, max_side: int = 640, score: float = 0.6, quarter_turns: int = 0
    ) -> list[FaceObservation]:
        """What the detector alone sees, best first, with the photo turned anticlockwise before."""
        turned = np.rot90(rgb, quarter_turns)
        size = Size(turned.shape[1], turned.shape[0])
        shrunk = _shrunk(size, max_side)
        picture = cv2.resize(turned, (shrunk.width, shrunk.height), interpolation=cv2.INTER_AREA)
        padded = Size(*(-(-side // MULTIPLE) * MULTIPLE for side in (shrunk.width, shrunk.height)))
        image = np.zeros((1, 3, padded.height, padded.width), np.float32)
        image[0, :, : shrunk.height, : shrunk.width] = picture[:, :, ::-1].transpose(2, 0, 1)
        outputs = self._detector.run({"image": image})
        back = unturn(Size(rgb.shape[1], rgb.shape[0]), quarter_turns).after(_unshrink(size, shrunk))
        return YuNetDecoder(padded)(outputs, back, score)

    def landmarks(self, rgb: Photo, seen: FaceObservation) -> FaceMesh:
        """The mesh of a detected face, looked at again from where it was found until its roll stays.

        The detector's eyes lie nearly level whatever the roll, so a face rolled by 35° takes four passes.
        """
        roi = Roi.of_detection(seen)
        for _ in range(_MOST_PASSES):
            mesh = landmarks_of_photo(self._landmarks, rgb, roi)
            before, roi = roi, Roi.of_landmarks(mesh.landmarks)
            if roi.roll_from(before) < _SETTLED_ROLL:
                break
        return landmarks_of_photo(self._landmarks, rgb, roi)

    def follow(self, rgb: Photo, near: Landmarks) -> FaceMesh:
        """The mesh of a face that was at the landmarks ``near`` in the picture before."""
        return landmarks_of_photo(self._landmarks, rgb, Roi.of_landmarks(near))

    def embed(self, rgb: Photo, landmarks: Landmarks) -> Embedding:
        """The (128,) unit embedding of the face with these landmarks."""
        return embed_photo(self._recogniser, rgb, landmarks)


def _among(box: Box, found: list[FaceObservation]) -> bool:
    return any(box.iou(other.box) > _SAME_FACE for other in found)


def _shrunk(size: Size, max_side: int) -> Size:
    factor = min(1.0, max_side / max(size.width, size.height))
    return Size(max(1, round(size.width * factor)), max(1, round(size.height * factor)))


def _unshrink(size: Size, shrunk: Size) -> Affine:
    x, y = size.width / shrunk.width, size.height / shrunk.height
    return Affine([[x, 0, (x - 1) / 2], [0, y, (y - 1) / 2]])
