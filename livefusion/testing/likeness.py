"""What networks see in NV12 pictures: landmarks and embeddings, for evaluation only."""

import numpy as np
import numpy.typing as npt

from livefusion.core.color import ColorInfo
from livefusion.core.face import Landmarks
from livefusion.devices.cpu import CpuDevice
from livefusion.faces.embed import Embedding, embed_photo
from livefusion.faces.landmarks import FaceMesh, landmarks_of_photo
from livefusion.faces.roi import Roi
from livefusion.inference.registry import ModelRegistry
from livefusion.inference.session import Session
from livefusion.ops.registry import NV12_TO_RGB

Plane = npt.NDArray[np.uint8]
Rgb = npt.NDArray[np.uint8]


class Likeness:
    """Looks at faces whose place is known from the truth. ``ModelError`` if a network is missing."""

    def __init__(self) -> None:
        models = ModelRegistry.load()
        self._landmarks = Session(models["face_landmarks"])
        self._recogniser = Session(models["sface"])
        self._device = CpuDevice()
        self._stream = self._device.stream("likeness")

    def rgb(self, luma: Plane, chroma: Plane, color: ColorInfo) -> Rgb:
        """(h, w, 3) RGB of an NV12 picture."""
        rgb = np.empty((*luma.shape, 3), np.uint8)
        arguments = {"luma": luma, "chroma": chroma, "rgb": rgb, "color": color}
        self._device.launch(NV12_TO_RGB, arguments, self._stream)
        return rgb

    def mesh(self, rgb: Rgb, near: Landmarks) -> FaceMesh:
        """The mesh of the face at the landmarks ``near``."""
        return landmarks_of_photo(self._landmarks, rgb, Roi.of_landmarks(near))

    def embedding(self, rgb: Rgb, landmarks: Landmarks) -> Embedding:
        """SFace's embedding of the face with those landmarks."""
        return embed_photo(self._recogniser, rgb, landmarks)


def landmark_error(found: Landmarks, true: Landmarks, eye_distance: float) -> float:
    """Mean distance of (n, ≥2) points, in per cent of the eye distance in pixels."""
    distance = np.hypot(*(found[:, :2].astype(np.float64) - true[:, :2]).T)
    return float(distance.mean() / eye_distance * 100)
